"""Cases of admission: what kwhatif makes of the objects, held against what the API server made of them."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_objects import admit_claim, check_workload
from kwhatif.admission.new_pod import admit_pod
from kwhatif.admission.outcome import Denied, changes_between
from kwhatif.admission.quota import QuotaAdmission
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.kube.model.policy import LimitRange, PriorityClass, ResourceQuota, RuntimeClass
from kwhatif.kube.model.quantity import amounts
from kwhatif.kube.model.storage import PersistentVolumeClaim, PersistentVolumeClaimSpec, StorageClass
from kwhatif.kube.model.workload import Namespace, NamespaceMeta, Workload

Case = dict[str, Any]
Setup = Pod | PersistentVolumeClaim | LimitRange | PriorityClass | ResourceQuota | RuntimeClass | StorageClass
OF_CLUSTER = ("PriorityClass", "RuntimeClass", "StorageClass")

_SEVERAL = re.compile(r"(is invalid|is forbidden): \[(.*)\]$", re.DOTALL)
_NEXT = re.compile(r", (?=spec[.:]|metadata\.|maximum |minimum |\S+ max limit)")


def disagreements(case: Case) -> Iterator[str]:
    """What comes out otherwise; errors may come in any order, since the API server iterates over maps."""
    cluster = _cluster_of(case)
    for number, (raw, expected) in enumerate(zip(case["pods"], case["results"], strict=True)):
        created = _read(raw, case["namespace"], Pod | PersistentVolumeClaim | Workload)
        made = _made(created, cluster)
        wanted = expected.get("message")
        said = made.message if isinstance(made, Denied) else None
        if wanted is not None or said is not None:
            if said != wanted and _parts(said) != _parts(wanted):
                yield f"object {number}: wanted {wanted!r}, got {said!r}"
        elif isinstance(created, Pod | PersistentVolumeClaim):
            yield from (f"object {number}: {change}" for change in _changes(made, expected["spec"]))


def _made(created: Any, cluster: Cluster) -> Any:
    """The object as stored, or the refusal; quotas count it."""
    match created:
        case Pod():
            admitted: Any = admit_pod(created, cluster)
        case PersistentVolumeClaim():
            admitted = admit_claim(created, cluster)
        case _:
            return check_workload(created, cluster) or created
    if isinstance(admitted, Denied):
        return admitted
    return charge(admitted.object, cluster) or admitted.object


def charge(obj: Pod | PersistentVolumeClaim, cluster: Cluster) -> Denied | None:
    """Store the quotas that count the object; or why it is refused."""
    charged = QuotaAdmission().charge(obj, cluster)
    if isinstance(charged, Denied):
        return charged
    for quota in charged:
        cluster.add(quota)
    return None


def _changes(made: Any, expected: Any) -> Iterator[str]:
    is_pod = isinstance(made, Pod)
    spec: Callable[[Any], Any] = _pod if is_pod else _claim
    wanted: Any = msgspec.convert(expected, PodSpec if is_pod else PersistentVolumeClaimSpec)
    for change in changes_between("", spec(made.spec), spec(wanted)):
        yield f"{change.field}: wanted {change.after!r}, got {change.before!r}"


def _parts(message: str | None) -> object:
    several = _SEVERAL.search(message or "")
    return (message[: several.start()], sorted(_NEXT.split(several[2]))) if message and several else message


def _read(raw: dict[str, Any], namespace: str, kind: Any) -> Any:
    inside = "" if raw["kind"] in OF_CLUSTER else namespace
    return msgspec.convert({**raw, "metadata": {**raw["metadata"], "namespace": inside}}, kind)


def _cluster_of(case: Case) -> Cluster:
    name = case["namespace"]
    objects = [default_object(_read(raw, name, Setup)) for raw in case["setup"]]
    return Cluster([Namespace(metadata=NamespaceMeta(name=name)), *objects])


# --- in one notation -------------------------------------------------------------------------------------


def _plain(resources: Any) -> Any:
    """Quantities in one notation: the API server rewrites what it computes, and what it stores."""
    return {name: str(amount) for name, amount in amounts(resources).items()}


def _requirements(resources: ResourceRequirements) -> ResourceRequirements:
    return replace(resources, requests=_plain(resources.requests), limits=_plain(resources.limits))


def _claim(spec: PersistentVolumeClaimSpec) -> PersistentVolumeClaimSpec:
    return replace(spec, resources=replace(spec.resources, requests=_plain(spec.resources.requests)))


def _pod(spec: PodSpec) -> PodSpec:
    def of(containers: Any) -> Any:
        return tuple(replace(container, resources=_requirements(container.resources)) for container in containers)

    return replace(
        spec,
        containers=of(spec.containers),
        init_containers=of(spec.init_containers),
        resources=_requirements(spec.resources) if spec.resources else None,
        node_selector=spec.node_selector or None,
        overhead=_plain(spec.overhead) or None,
    )
