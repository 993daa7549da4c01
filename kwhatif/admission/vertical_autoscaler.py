"""The webhook of VerticalPodAutoscalers: new pods get the recommended requests, within the policy.

(`vertical-pod-autoscaler/pkg` of kubernetes/autoscaler, 1.7: `utils/vpa/capping.go`,
`utils/vpa/limit_and_request_scaling.go`, `admission-controller/resource/pod/recommendation`.) Flags of the autoscaler,
such as a maximum for the whole cluster, are already applied to the recommendation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.admission.plugins import fill_in_limits
from kwhatif.admission.same import each, with_parts
from kwhatif.kube.matching.requests import CPU, MEMORY, units
from kwhatif.kube.model.bystanders import ContainerResourcePolicy, VerticalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster, ObjectRef, lacks
from kwhatif.kube.model.kinds import in_namespace
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, is_sidecar
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem, MutatingWebhookConfiguration, Webhook
from kwhatif.kube.model.quantity import MICRO_PER_MILLI, NANO, Quantity, milli_value, parse_quantity
from kwhatif.kube.model.workload import POD_SOURCES

#: The resources that a VerticalPodAutoscaler can set.
SCALED = (CPU, MEMORY)
#: The mode in which a VerticalPodAutoscaler only recommends, and the name of the policy for all other containers.
OFF, _ANY = "Off", "*"
#: The name of its admission controller's MutatingWebhookConfiguration (`pkg/admission-controller/config.go`), and of
#: the webhook in it.
WEBHOOK_CONFIGURATION, _WEBHOOK = "vpa-webhook-config", "vpa.k8s.io"
_ITSELF = "verticalpodautoscalers"
#: Controlled values: limits stay as they are.
REQUESTS_ONLY = "RequestsOnly"

#: Nano-units by resource.
_Amounts = dict[str, int]


def update_mode(vpa: VerticalPodAutoscaler) -> str:
    """The update mode; "Recreate" if none is set."""
    return vpa.spec.update_policy.update_mode or "Recreate"


def _by_target(cluster: Cluster) -> Mapping[str, Sequence[VerticalPodAutoscaler]]:
    found: dict[str, list[VerticalPodAutoscaler]] = {}
    for vpa in cluster.all(VerticalPodAutoscaler).values():
        found.setdefault(vpa.target, []).append(vpa)
    return {target: sorted(vpas, key=strength) for target, vpas in found.items()}


def strength(vpa: VerticalPodAutoscaler) -> tuple[bool, str, str]:
    """Sort key: the oldest one wins, then the first by name (`Stronger`)."""
    made = vpa.metadata.creation_timestamp
    return made is not None, made or "", vpa.metadata.name


def vpas_of(owner: str, cluster: Cluster) -> Sequence[VerticalPodAutoscaler]:
    """The VerticalPodAutoscalers of a workload (`Deployment shop/web`) or of its custom resource, strongest first."""
    known = cluster.derived(_by_target, VerticalPodAutoscaler)
    return (known.get(owner) or known.get(custom_name(owner, cluster), ())) if known else ()


def custom_name(owner: str, cluster: Cluster) -> str:
    """The custom resource that the workload stands for, as `targetRef` names it; "": none."""
    ref = ObjectRef.parse(owner)
    obj = next((cluster.get(type_, ref.key) for type_ in POD_SOURCES if type_.__name__ == ref.kind), None)
    of = None if obj is None else obj.metadata.stands_for
    return "" if of is None else f"{of.kind} {ref.namespace}/{of.name}"


def is_registered(cluster: Cluster) -> bool:
    """Whether the API server calls the webhook, as far as is known.

    An input without any MutatingWebhookConfiguration does not show this, so the answer is yes. Otherwise one of them
    must have the name that the admission controller gives it, or, because charts use other names, contain its webhook.
    """
    if lacks(MutatingWebhookConfiguration, cluster):
        return True
    return cluster.derived(_has_webhook, MutatingWebhookConfiguration)


def _has_webhook(cluster: Cluster) -> bool:
    every = cluster.all(MutatingWebhookConfiguration)
    return WEBHOOK_CONFIGURATION in every or any(_is_own(hook) for each in every.values() for hook in each.webhooks)


def _is_own(webhook: Webhook) -> bool:
    return webhook.name == _WEBHOOK or any(_ITSELF in rule.resources for rule in webhook.rules)


def is_ignored(owner: str, cluster: Cluster) -> bool:
    """Whether the workload's new pods would get other requests, if only the webhook were registered."""
    vpa = controlling(owner, cluster) if owner else None
    return vpa is not None and vpa.status.recommendation is not None and not is_registered(cluster)


def controlling(owner: str, cluster: Cluster) -> VerticalPodAutoscaler | None:
    """The VerticalPodAutoscaler that sets the requests of the workload's new pods (`GetMatchingVPA`)."""
    return next((vpa for vpa in vpas_of(owner, cluster) if update_mode(vpa) != OFF), None)


# --- the recommendation ------------------------------------------------------------------------------------------


def recommended(
    pod: Pod, vpa: VerticalPodAutoscaler, cluster: Cluster, bound: str = "target"
) -> dict[str, ResourceRequirements]:
    """The recommended resources by container: the target within policies and LimitRanges, and limits in proportion.

    Containers whose policy is "Off", and resources that are not controlled, are left out. `bound`: the field of the
    recommendation to use instead of `target`.
    """
    known = vpa.status.recommendation
    if known is None:
        return {}
    targets: dict[str, ResourceList] = {
        row.container_name: getattr(row, bound) for row in known.container_recommendations
    }
    every = list(_scaled(pod.spec))
    controlled = [each for each in every if each.name in targets and _policy(each.name, vpa).mode != OFF]
    wanted = {each.name: _controlled(targets[each.name], _policy(each.name, vpa)) for each in controlled}
    if not any(wanted.values()):
        return {}
    of_container, of_pod = (_limits_of(kind, pod.metadata.namespace, cluster) for kind in ("Container", "Pod"))
    if of_pod is not None:
        # QUIRK: if the sum over a pod is bounded, its other containers are changed, too, whatever their policy.
        wanted |= {each.name: granted_to(each, pod)[0] for each in pod.spec.containers if each.name not in wanted}
        for name in SCALED:
            _fit_pod(wanted, pod, of_pod, name)
    rows: dict[str, ResourceRequirements] = {}
    for container in every:
        if wanted.get(container.name):
            requests, limits = granted_to(container, pod)
            amounts, policy = wanted[container.name], _policy(container.name, vpa)
            _cap(amounts, policy, requests, limits, of_container)
            scales = policy.controlled_values != REQUESTS_ONLY
            scaled = _limits(amounts, requests, limits, of_container) if scales else {}
            rows[container.name] = ResourceRequirements(requests=to_texts(amounts), limits=to_texts(scaled))
    return rows


def _scaled(spec: PodSpec) -> Iterator[Container]:
    yield from spec.containers
    yield from filter(is_sidecar, spec.init_containers)


def _policy(name: str, vpa: VerticalPodAutoscaler) -> ContainerResourcePolicy:
    """The policy of the container; if it has none, the policy `*` (`GetContainerResourcePolicy`)."""
    policies = {each.container_name: each for each in reversed(vpa.spec.resource_policy.container_policies)}
    return policies.get(name) or policies.get(_ANY) or ContainerResourcePolicy()


def _controlled(target: ResourceList, policy: ContainerResourcePolicy) -> _Amounts:
    names = SCALED if policy.controlled_resources is None else policy.controlled_resources
    return {name: parse_quantity(target[name]) for name in SCALED if name in target and name in names}


def granted_to(container: Container, pod: Pod) -> tuple[_Amounts, _Amounts]:
    """The container's requests and limits: those granted by the kubelet, if the pod's status shows them."""
    rows = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    row = next((row for row in rows if row.name == container.name and row.resources is not None), None)
    now = container.resources if row is None or row.resources is None else row.resources
    return _amounts(now.requests), _amounts(now.limits)


def _amounts(found: ResourceList) -> _Amounts:
    return {name: parse_quantity(found[name]) for name in SCALED if name in found}


def to_texts(amounts: Mapping[str, int]) -> ResourceList:
    """Nano-units as a resource list."""
    return {name: str(Quantity(nanos, "binary" if name == MEMORY else "decimal")) for name, nanos in amounts.items()}


def _in_proportion(name: str, scaled: int, base: int, result: int, *, up: bool = False) -> int:
    """The amount that is to `scaled` as `result` is to `base`, in whole units (`scaleQuantityProportionally…`)."""
    one = MICRO_PER_MILLI if name == CPU else NANO
    product, by = units(name, scaled) * units(name, result), units(name, base)
    return one * (-(-product // by) if up and name == CPU else product // by)


def _limits(amounts: _Amounts, requests: _Amounts, limits: _Amounts, of_container: LimitRangeItem | None) -> _Amounts:
    found = {}
    for name in SCALED:
        limit = _limit(name, amounts.get(name, 0), requests, limits, of_container)
        if limit is not None:
            found[name] = limit
    return found


def _limit(name: str, amount: int, requests: _Amounts, limits: _Amounts, item: LimitRangeItem | None) -> int | None:
    """The limit, in the same proportion to the request as before; None: no limit (`getProportionalResourceLimit`)."""
    limit = limits.get(name, 0) or _of(item, "default", name)
    request = requests.get(name, 0)
    if not limit or not amount:
        return None
    if not request or milli_value(request) == milli_value(limit):
        return amount
    return _in_proportion(name, limit, request, amount)


# --- bounds ------------------------------------------------------------------------------------------------------


def _limits_of(kind: str, namespace: str, cluster: Cluster) -> LimitRangeItem | None:
    """The LimitRanges of the namespace for pods or for containers, combined into one (`getLimitRangeItem`)."""
    found = in_namespace(LimitRange, namespace, cluster)
    items = [item for limits in found for item in limits.spec.limits if item.type == kind]
    items = [item for item in items if item.max or item.min or item.default]
    if not items:
        return None
    default = next((item.default for item in reversed(items) if item.default), {})
    maximum, minimum = [item.max for item in items], [item.min for item in items]
    return LimitRangeItem(type=kind, max=_sorted_out(maximum, 0), min=_sorted_out(minimum, -1), default=default)


def _sorted_out(bounds: Sequence[ResourceList], index: int) -> ResourceList:
    """For each resource: its bounds, sorted from the lowest to the highest, and of these the one at this index."""
    every = {name: sorted((each[name] for each in bounds if name in each), key=parse_quantity) for name in SCALED}
    return {name: found[index] for name, found in every.items() if found}


def _of(item: LimitRangeItem | None, field: str, name: str) -> int:
    """A bound of a LimitRange; 0 if it has none."""
    return 0 if item is None else parse_quantity(getattr(item, field).get(name, 0))


def _cap(
    amounts: _Amounts,
    policy: ContainerResourcePolicy,
    requests: _Amounts,
    limits: _Amounts,
    item: LimitRangeItem | None,
) -> None:
    """Apply the LimitRange, then the policy, then the limits (`getCappedRecommendationForContainer`)."""
    for name in amounts:
        minimum, maximum = (_boundary(field, name, requests, limits, item) for field in ("min", "max"))
        minimum = max(minimum, _of(item, "min", name))
        for low, high in ((minimum, maximum), (_bound(policy.min_allowed, name), _bound(policy.max_allowed, name))):
            amounts[name] = max(amounts[name], low)
            amounts[name] = min(amounts[name], high) if high else amounts[name]
        limit = limits.get(name)
        if policy.controlled_values == REQUESTS_ONLY and limit is not None:
            amounts[name] = limit if milli_value(amounts[name]) > milli_value(limit) else amounts[name]


def _bound(bounds: ResourceList, name: str) -> int:
    return parse_quantity(bounds.get(name, 0))


def _boundary(field: str, name: str, requests: _Amounts, limits: _Amounts, item: LimitRangeItem | None) -> int:
    """The request whose proportional limit equals the bound of the LimitRange; 0: no bound (`GetBoundaryRequest`)."""
    limit = limits.get(name, 0) or _of(item, "default", name)
    bound = _of(item, field, name)
    if not limit or not bound or not requests.get(name, 0):
        return bound if limit else 0
    return _in_proportion(name, requests[name], limit, bound)


def _fit_pod(wanted: dict[str, _Amounts], pod: Pod, item: LimitRangeItem, name: str) -> None:
    """Bring the sum over the pod within its LimitRange, all containers in proportion (`applyPodLimitRange`)."""
    total = total_limit = 0
    for container in pod.spec.containers:
        requests, limits = granted_to(container, pod)
        amount = wanted[container.name].get(name, 0) if container.name in wanted else requests.get(name, 0)
        total += amount
        total_limit += _limit(name, amount, requests, limits, item) or 0
    minimum, maximum = _of(item, "min", name), _of(item, "max", name)
    if not total_limit or (minimum <= total_limit and minimum <= total and (not maximum or maximum >= total_limit)):
        return
    is_short = minimum > total
    bound = maximum if maximum and maximum < total_limit else minimum
    base, result = (total, minimum) if is_short else (total_limit, bound)
    for amounts in wanted.values():
        if name in amounts and base:
            amounts[name] = _in_proportion(name, amounts[name], base, result, up=is_short)


# --- the webhook -------------------------------------------------------------------------------------------------


def with_recommended(pod: Pod, rows: Mapping[str, ResourceRequirements]) -> Pod:
    """The pod with these requests and limits, by container; all others stay."""
    spec = pod.spec

    def given(container: Container) -> Container:
        row = rows.get(container.name)
        return container if row is None else with_resources(container, row)

    containers, init_containers = each(given, spec.containers), each(given, spec.init_containers)
    return with_parts(pod, spec=with_parts(spec, containers=containers, init_containers=init_containers))


def with_resources(container: Container, given: ResourceRequirements) -> Container:
    """The container with these requests and limits instead of its own; all others stay."""
    own = container.resources
    requests, limits = {**own.requests, **given.requests}, {**own.limits, **given.limits}
    if (requests, limits) == (own.requests, own.limits):
        return container
    return replace(container, resources=replace(own, requests=requests, limits=limits))


def recommend(pod: Pod, owner: str, cluster: Cluster) -> Pod:
    """A new pod of this workload with the recommended requests; the pod itself if no autoscaler sets any."""
    return with_recommended(pod, recommended_for_new(pod, owner, cluster))


def recommended_for_new(pod: Pod, owner: str, cluster: Cluster) -> dict[str, ResourceRequirements]:
    """The recommended resources of a new pod, to which the API server has already added the namespace's defaults."""
    vpa = controlling(owner, cluster) if owner else None
    return {} if vpa is None or not is_registered(cluster) else recommended(fill_in_limits(pod, cluster), vpa, cluster)
