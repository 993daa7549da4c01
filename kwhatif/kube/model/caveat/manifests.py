"""What of the manifests is not judged, and what the API server may do to it."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class NothingJudged(IncompleteCaveat, tag="nothing-judged", kw_only=True):
    """The manifests hold no pod, and nothing that makes pods."""


class NotBuilt(IncompleteCaveat, tag="not-built", kw_only=True):
    """A Kustomization among the manifests is not built: what it would change is not judged."""

    file: str


class UnjudgedKind(IncompleteCaveat, tag="unjudged-kind", kw_only=True):
    """Custom resources of one kind hold pod templates that were not judged."""

    kind: str
    #: Such as `Rollout shop/web`.
    objects: tuple[str, ...]


class CustomKind(IncompleteCaveat, tag="custom-kind", kw_only=True):
    """Objects of kinds whose fields, and whether pods are made of them, only their own controllers know."""

    #: Kind and group, such as `CephCluster.ceph.rook.io` -> how many.
    kinds: tuple[tuple[str, int], ...]


class HelmHooks(BaseCaveat, tag="helm-hooks", kw_only=True):
    """Objects are Helm hooks: what runs before or after the rest, and what no install or upgrade creates."""

    #: Such as `Job shop/migrate`, in the order of the manifests.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    #: Object -> the hooks that it names.
    left_out: tuple[tuple[str, str], ...] = ()


class FieldIgnored(BaseCaveat, tag="field-ignored", kw_only=True):
    """A field of a manifest that does not exist, or is there twice; `--validate=warn` lets it pass."""

    warns = True

    #: File, document, object and field.
    where: str
    #: In the API server's words.
    problem: str
    #: What may have been meant; "" where nothing is near.
    hint: str = ""


class PodSecurityNotChecked(IncompleteCaveat, tag="pod-security", kw_only=True):
    """Pods land in namespaces that enforce a Pod Security Standard, in a cluster that fills in security contexts."""

    #: Namespace -> level, such as `restricted`.
    namespaces: tuple[tuple[str, str], ...]


class PodSecurityWarns(BaseCaveat, tag="pod-security-warning", kw_only=True):
    """Objects of the manifests violate the Pod Security Standard that their namespace warns of."""

    #: Such as `Deployment shop/web`.
    objects: tuple[str, ...]
    #: Such as `restricted:latest`.
    standard: str
    #: In the API server's words.
    violation: str


class ServiceAccountsNotChecked(BaseCaveat, tag="service-accounts", kw_only=True):
    """Pods name a ServiceAccount that the manifests do not hold; whether the cluster has it is not checked."""

    names: tuple[str, ...]


class MissingServiceAccounts(IncompleteCaveat, tag="missing-service-account", kw_only=True):
    """Pods name a ServiceAccount that is not in the dump, which has others of that namespace: they are refused."""

    names: tuple[str, ...]


class AdmissionNotAsked(IncompleteCaveat, tag="admission-webhooks", kw_only=True):
    """Admission webhooks or policies would be asked about objects, and are not: they may change or refuse them."""

    #: Such as `MutatingWebhookConfiguration istio (sidecar.istio.io)`.
    asked: tuple[str, ...] = ()
    #: Those of which it is not known whether all their conditions hold.
    unsure: tuple[str, ...] = ()
    #: About what: workloads, such as `Deployment shop/web`.
    objects: tuple[str, ...] = ()
    #: Kind -> how many that could not be read: whom they would be asked about is not known.
    kinds: tuple[tuple[str, int], ...] = ()


class UnknownQuotaScope(IncompleteCaveat, tag="unknown-quota-scope", kw_only=True):
    """A ResourceQuota of a namespace that pods are made in has a scope that is not known: it counts for no pod."""

    quota: str
    scope: str


ManifestsCaveat = (
    NothingJudged
    | NotBuilt
    | UnjudgedKind
    | CustomKind
    | HelmHooks
    | FieldIgnored
    | PodSecurityNotChecked
    | PodSecurityWarns
    | ServiceAccountsNotChecked
    | MissingServiceAccounts
    | AdmissionNotAsked
    | UnknownQuotaScope
)
