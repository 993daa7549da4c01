"""Caveats about manifests: objects that are not judged, or that the API server may change or reject."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class NothingJudged(IncompleteCaveat, tag="nothing-judged", kw_only=True):
    """The manifests hold no pod, and nothing that makes pods."""


class NotBuilt(IncompleteCaveat, tag="not-built", kw_only=True):
    """A Kustomization among the manifests is not built: what it would change is not judged."""

    file: str


class UnjudgedKind(IncompleteCaveat, tag="unjudged-kind", kw_only=True):
    """Custom resources of one kind have pod templates that were not judged."""

    kind: str
    #: The custom resources, such as `Rollout shop/web`.
    objects: tuple[str, ...]


class CustomKind(IncompleteCaveat, tag="custom-kind", kw_only=True):
    """Custom resources: only their controllers know their fields, and whether they create pods."""

    #: Kind and group, such as `CephCluster.ceph.rook.io` -> number of objects.
    kinds: tuple[tuple[str, int], ...]


class CustomKindPlayed(BaseCaveat, tag="custom-kind-played", kw_only=True):
    """Custom resources are judged as if they were of a kind of Kubernetes' own."""

    kind: str
    #: The API group of the kind.
    group: str
    #: The kind as which they are judged, such as `Deployment`.
    like: str
    #: The custom resources, such as `Rollout shop/web`.
    objects: tuple[str, ...]
    #: The custom resources that the input lacks: they are inferred from their pods.
    inferred: tuple[str, ...] = ()


class HelmHooks(BaseCaveat, tag="helm-hooks", kw_only=True):
    """Objects are Helm hooks: they run before or after the rest, or no install or upgrade creates them."""

    #: The hooks, such as `Job shop/migrate`, in the order of the manifests.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    #: Object -> the hook events in its annotation.
    left_out: tuple[tuple[str, str], ...] = ()


class FieldIgnored(BaseCaveat, tag="field-ignored", kw_only=True):
    """A field of a manifest that is unknown or duplicate; `--validate=warn` lets it pass."""

    warns = True

    #: File, document, object and field.
    where: str
    #: The API server's message.
    problem: str
    #: The similar name that may have been meant; "" if there is none.
    hint: str = ""


class PodSecurityNotChecked(IncompleteCaveat, tag="pod-security", kw_only=True):
    """Pods are created in namespaces that enforce a Pod Security Standard, and webhooks fill in security contexts."""

    #: Namespace -> level, such as `restricted`.
    namespaces: tuple[tuple[str, str], ...]


class PodSecurityWarns(BaseCaveat, tag="pod-security-warning", kw_only=True):
    """Objects of the manifests violate the Pod Security Standard that is set to `warn` for their namespace."""

    #: The objects, such as `Deployment shop/web`.
    objects: tuple[str, ...]
    #: The standard, such as `restricted:latest`.
    standard: str
    #: The API server's message.
    violation: str


class ServiceAccountsNotChecked(BaseCaveat, tag="service-accounts", kw_only=True):
    """Pods name a ServiceAccount that the manifests do not hold; whether the cluster has it is not checked."""

    names: tuple[str, ...]


class MissingServiceAccounts(IncompleteCaveat, tag="missing-service-account", kw_only=True):
    """Pods name a ServiceAccount that is not in the dump, which has others of that namespace: they are rejected."""

    names: tuple[str, ...]


class AdmissionNotAsked(IncompleteCaveat, tag="admission-webhooks", kw_only=True):
    """Admission webhooks or policies that match objects are not called: they may change or reject these objects."""

    #: The webhooks and policies, such as `MutatingWebhookConfiguration istio (sidecar.istio.io)`.
    asked: tuple[str, ...] = ()
    #: The webhooks and policies for which it is unknown whether all match conditions are true.
    unsure: tuple[str, ...] = ()
    #: The workloads that match, such as `Deployment shop/web`.
    objects: tuple[str, ...] = ()
    #: Kind -> number of webhooks and policies that could not be read, so it is unknown which objects they match.
    kinds: tuple[tuple[str, int], ...] = ()


class UnknownQuotaScope(IncompleteCaveat, tag="unknown-quota-scope", kw_only=True):
    """A ResourceQuota has an unknown scope, in a namespace where pods are created: it counts no pod."""

    quota: str
    scope: str


ManifestsCaveat = (
    NothingJudged
    | NotBuilt
    | UnjudgedKind
    | CustomKind
    | CustomKindPlayed
    | HelmHooks
    | FieldIgnored
    | PodSecurityNotChecked
    | PodSecurityWarns
    | ServiceAccountsNotChecked
    | MissingServiceAccounts
    | AdmissionNotAsked
    | UnknownQuotaScope
)
