"""What manifests hold or name that no rule reads, as caveats: autoscalers, service accounts, unknown kinds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler, ServiceAccount
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import (
    CustomKind,
    HelmHooks,
    MissingServiceAccounts,
    NotBuilt,
    ServiceAccountsNotChecked,
    UnjudgedKind,
)
from kwhatif.kube.model.caveat.scheduling import DevicesNotModelled, GangsNotModelled, GroupFieldsNotModelled
from kwhatif.kube.model.caveat.workloads import AutoscalerNotModelled, AutoscalersNotRead
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, lacks
from kwhatif.kube.model.helm import HelmHook, Phase, hook_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.kube.model.resource import (
    DeviceClass,
    DeviceClassSpec,
    DeviceSubRequest,
    DeviceTaintRule,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from kwhatif.kube.model.workload import SCALABLE, Job
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.stand_ins import played
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.dumps.left_out import fields_not_modelled, is_gang, is_grouped, rules_ignored, unknown_rules
from kwhatif.sources.manifests.outline import Outline
from kwhatif.workloads.counts import bounded, target_of
from kwhatif.workloads.expand import replicas_of

#: Custom kinds of well-known projects of which no controller makes pods. Group -> kinds; no kinds: all of the group.
#: A kind belongs here only if its own controller never makes a pod, nor anything that does, and if it does not change
#: pods, requests or replicas of others. `Gateway`, `Certificate` (solvers of ACME) and `ScaledObject` do not.
_PODLESS: Mapping[str, frozenset[str]] = {
    group: frozenset(kinds.split())
    for group, kinds in {
        "bitnami.com": "SealedSecret",
        "cert-manager.io": "Issuer ClusterIssuer",
        "config.openshift.io": "",
        "console.openshift.io": "",
        "crd.projectcalico.org": "",
        "externaldns.k8s.io": "",
        "external-secrets.io": "",
        "gateway.networking.k8s.io": (
            "BackendTLSPolicy GatewayClass GRPCRoute HTTPRoute ReferenceGrant TCPRoute TLSRoute UDPRoute"
        ),
        "grafana.integreatly.org": (
            "GrafanaAlertRuleGroup GrafanaContactPoint GrafanaDashboard GrafanaDatasource GrafanaFolder"
        ),
        "groupsnapshot.storage.k8s.io": "",
        "image.openshift.io": "",
        "k8s.cni.cncf.io": "NetworkAttachmentDefinition",
        "metallb.io": "",
        "monitoring.coreos.com": "AlertmanagerConfig PodMonitor Probe PrometheusRule ScrapeConfig ServiceMonitor",
        "networking.istio.io": (
            "DestinationRule EnvoyFilter Gateway ProxyConfig ServiceEntry Sidecar VirtualService WorkloadEntry"
            " WorkloadGroup"
        ),
        "projectcalico.org": "",
        "route.openshift.io": "",
        "secrets-store.csi.x-k8s.io": "",
        "security.istio.io": "",
        "snapshot.storage.k8s.io": "",
        "telemetry.istio.io": "",
        "traefik.containo.us": "",
        "traefik.io": "",
    }.items()
}


def makes_no_pods(api_version: str, kind: str) -> bool:
    """Whether it is known of this kind that no controller makes pods of it."""
    kinds = _PODLESS.get(group_of(api_version))
    return kinds is not None and (not kinds or kind in kinds)


_SERVICE_ACCOUNT = "ServiceAccount"
#: Made by the API server in every namespace.
_DEFAULT_ACCOUNT = "default"
#: Where pods and what makes them name their service account.
_POD_SPECS = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)


class Unmodelled:
    """Looks at every object of the manifests; `caveats` once all have been seen."""

    def __init__(self, default_namespace: str) -> None:
        self._namespace = default_namespace
        self._groups = 0
        #: `Kind namespace/name` of everything that is there.
        self._names: set[str] = set()
        #: Service accounts that pods name, `namespace/name`.
        self._accounts: dict[str, None] = {}

    def see(self, outline: Outline) -> None:
        """Take note of an object."""
        namespace = str(outline.metadata.get("namespace") or self._namespace)
        self._names.add(f"{outline.kind} {namespace}/{outline.metadata.get('name')}")
        self._groups += is_gang(f"{outline.version}/{outline.kind}")
        for path in _POD_SPECS:
            account = outline.at((*path, "serviceAccountName")) or outline.at((*path, "serviceAccount"))
            if isinstance(account, str) and account not in ("", _DEFAULT_ACCOUNT):
                self._accounts[f"{namespace}/{account}"] = None

    def caveats(self) -> Iterator[Caveat]:
        """Caveats about the object."""
        if self._groups:
            yield GangsNotModelled(groups=self._groups)
        unknown = tuple(name for name in self._accounts if f"{_SERVICE_ACCOUNT} {name}" not in self._names)
        if unknown:
            yield ServiceAccountsNotChecked(names=unknown)


def in_cluster(caveats: Iterable[Caveat], applied: Sequence[Applied], cluster: Cluster) -> Iterator[Caveat]:
    """The caveats about manifests with what the cluster knows of it; and the autoscalers of what they bring."""
    rules = [each.object for each in applied if isinstance(each.object, DeviceTaintRule)]
    unknown = (*unknown_rules(cluster, rules), *_costly([each.object for each in applied], cluster))
    if unknown:
        yield DevicesNotModelled(features=unknown)
    yield from rules_ignored(cluster, rules)
    grouped = tuple(each.source.object for each in applied if each.is_workload and is_grouped(each.object))
    if grouped and GROUPS_GATE in cluster.facts.gates:
        yield GangsNotModelled(objects=grouped)
    groups = [each.object for each in applied if isinstance(each.object, PodGroup)]
    for caveat in fields_not_modelled(groups):
        if isinstance(caveat, GroupFieldsNotModelled) and caveat.gate in cluster.facts.gates:  # else they are dropped
            yield caveat
    yield from played([each.object for each in applied])
    for caveat in caveats:
        if isinstance(caveat, ServiceAccountsNotChecked):
            yield from _accounts(caveat.names, cluster)
        else:
            yield caveat
    given = [each.object for each in applied if isinstance(each.object, HorizontalPodAutoscaler)]
    scalers = {key_of(each): each for each in (*cluster.all(HorizontalPodAutoscaler).values(), *given)}
    by_name = {each.source.object: each.object for each in applied}
    yield from _not_read(by_name, given, cluster)
    # Those of the manifests first, also where what they scale is not there.
    for scaler in dict.fromkeys((*map(key_of, given), *scalers)):
        found = scalers[scaler]
        if found in given or found.target in by_name:
            yield _metrics(found, by_name.get(found.target), cluster)


#: What can make the estimate of an expression's cost large: loops, and variables, of which it knows no size.
_COSTLY = re.compile(r"\.(?:all|exists|exists_one|existsOne|map|filter|transform\w{1,20})\(|\bcel\.bind\(")


def _costly(objects: Iterable[object], cluster: Cluster) -> Iterator[str]:
    """Selectors of devices that the API server may refuse: it estimates their cost when they are new, as nothing here.

    `validateCELSelector` in pkg/apis/resource/validation: "too complex, exceeds cost limit". What is stored already was
    taken.
    """
    new = set(filter(_COSTLY.search, _expressions(objects)))
    if new and new.difference(*(_expressions(cluster.all(kind).values()) for kind in _SELECTING)):
        yield "new selectors with loops or cel.bind (the API server limits their estimated cost)"


_SELECTING = (DeviceClass, ResourceClaim, ResourceClaimTemplate)


def _expressions(objects: Iterable[object]) -> Iterator[str]:
    for obj in objects:
        requests: Sequence[DeviceClassSpec | ExactDeviceRequest | DeviceSubRequest | None] = ()
        match obj:
            case DeviceClass():
                requests = [obj.spec]
            case ResourceClaim(spec=spec) | ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=spec)):
                devices = spec.devices.requests
                requests = [each for request in devices for each in (request.exactly, *request.first_available)]
        selectors = (selector for request in requests if request is not None for selector in request.selectors)
        yield from (selector.cel.expression for selector in selectors if selector.cel is not None)


def _not_read(
    names: Iterable[str], given: Iterable[HorizontalPodAutoscaler], cluster: Cluster
) -> Iterator[AutoscalersNotRead]:
    """Workloads of a whole cluster, of which only the autoscalers could not be read."""
    if not (cluster.facts.is_whole and lacks(HorizontalPodAutoscaler, cluster)):
        return
    present = {f"{kind.__name__} {key}" for kind in SCALABLE for key in cluster.all(kind)}
    present.difference_update(each.target for each in given)
    if targets := tuple(name for name in names if name in present):
        yield AutoscalersNotRead(targets=targets)


def _metrics(scaler: HorizontalPodAutoscaler, workload: object, cluster: Cluster) -> AutoscalerNotModelled:
    """What its metrics ask for is not known: how many pods its workload has without that, if it is of a known kind."""
    target = workload if isinstance(workload, SCALABLE) else target_of(scaler, cluster)
    known = target_of(scaler, cluster)
    named = known if target is not None and target.spec.replicas is None and known is not None else target
    return AutoscalerNotModelled(
        name=key_of(scaler),
        target=scaler.target,
        min_replicas=scaler.spec.min_replicas,
        max_replicas=scaler.spec.max_replicas,
        replicas=None if named is None else bounded(replicas_of(named), scaler),
        missing=workload is not None,
    )


def _accounts(names: Iterable[str], cluster: Cluster) -> Iterator[Caveat]:
    known = cluster.all(ServiceAccount)
    namespaces = {key.partition("/")[0] for key in known}
    unknown = [name for name in names if name not in known]
    missing = tuple(name for name in unknown if name.partition("/")[0] in namespaces)
    if missing:
        yield MissingServiceAccounts(names=missing)
    unchecked = tuple(name for name in unknown if name not in missing)
    if unchecked:
        yield ServiceAccountsNotChecked(names=unchecked)


class Hooks:
    """Helm hooks among the manifests."""

    def __init__(self) -> None:
        self._left_out: list[tuple[str, str]] = []
        #: Of what is left out.
        self.kinds: list[str] = []
        self._running: dict[Phase, list[str]] = {"before": [], "after": []}

    def leaves_out(self, outline: Outline) -> bool:
        """Whether no install or upgrade creates the object."""
        hook = hook_of(outline.annotations)
        if hook is None or hook.phase is not None:
            return False
        self._left_out.append((outline.name, hook.said))
        self.kinds.append(outline.kind)
        return True

    def see(self, obj: KubernetesObject, hook: HelmHook | None) -> None:
        """Take note of an object that is read."""
        if hook is not None and hook.phase is not None and isinstance(obj, Pod | Job):
            name = key_of(obj) if obj.metadata.name else f"{key_of(obj)}{obj.metadata.generate_name}"
            self._running[hook.phase].append(f"{type(obj).__name__} {name}")

    def caveats(self) -> Iterator[Caveat]:
        """Caveats about the hooks."""
        before, after = (tuple(self._running[phase]) for phase in ("before", "after"))
        if before or after or self._left_out:
            yield HelmHooks(before=before, after=after, left_out=tuple(self._left_out))


class CustomKinds:
    """Objects of kinds that the API server does not have of its own, and that are not judged."""

    def __init__(self) -> None:
        self._not_built: list[NotBuilt] = []
        #: Kind -> the objects that hold a pod template.
        self._with_template: dict[str, list[str]] = {}
        #: Kind and group -> how many, of the others.
        self._others: Counter[str] = Counter()

    def see(self, outline: Outline, *, is_custom: bool) -> None:
        """Take note of an object that is not read; `is_custom`: only a controller of its own knows that kind."""
        group = group_of(outline.version)
        if outline.kind == "Kustomization" and group == "kustomize.config.k8s.io":
            self._not_built.append(NotBuilt(file=outline.place.origin.source))
        elif isinstance(outline.at(("spec", "template", "spec", "containers")), list):
            self._with_template.setdefault(outline.kind, []).append(outline.name)
        elif is_custom and not makes_no_pods(outline.version, outline.kind):
            self._others[f"{outline.kind}.{group}"] += 1

    def caveats(self) -> Iterator[Caveat]:
        """One caveat about all objects without a template."""
        yield from self._not_built
        for kind, objects in self._with_template.items():
            yield UnjudgedKind(kind=kind, objects=tuple(objects))
        if self._others:
            yield CustomKind(kinds=tuple(sorted(self._others.items(), key=lambda item: (-item[1], item[0]))))
