"""DefaultEvictor: which pods may be evicted (`framework/plugins/defaultevictor`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kwhatif.descheduler.node_fit import OtherNodes
from kwhatif.descheduler.policy import SYSTEM_CRITICAL_PRIORITY, DefaultEvictorArgs
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.descheduler.validate import DEFAULT_PROTECTIONS
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import go_duration, parse_duration
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import Namespace

_FITS_NOWHERE = (
    "pod does not fit on any other node because of nodeSelector(s), Taint(s), or nodes marked as unschedulable"
)
_OTHER_NAMESPACE = "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"

Check = Callable[[Pod], str]


class DefaultEvictor:
    """The evictor of one profile."""

    def __init__(self, args: DefaultEvictorArgs, sandbox: Sandbox) -> None:
        self._args = args
        self._sandbox = sandbox
        self._checks = [*_protections(args, sandbox), *_conditions(args, sandbox)]
        namespaces = compile_selector(args.namespace_label_selector)
        #: None: all namespaces match.
        self._namespaces: Selector | None = None if namespaces.nothing or namespaces.empty else namespaces
        self._nodes: OtherNodes | None = None

    def objections(self, pod: Pod) -> tuple[str, ...] | None:
        """Why the pod may not be evicted, with upstream's messages; None: it may (`Filter`).

        QUIRK: a pod that must not be evicted (noEvictionPolicy Mandatory) is protected without a message.
        """
        annotations = pod.metadata.annotations
        if annotations.evict is not None:
            return None
        if self._args.no_eviction_policy == "Mandatory" and annotations.prefer_no_eviction is not None:
            return ()
        found = tuple(reason for check in self._checks if (reason := check(pod)))
        return found or None

    def filter(self, pod: Pod) -> bool:
        """Whether the pod may be evicted."""
        return self.objections(pod) is None

    def late_objection(self, pod: Pod) -> str | None:
        """Why a pod that may be evicted is still protected (`PreEvictionFilter`); None: it is not.

        QUIRK: if the node selector cannot be parsed, every pod is protected, with the reason "".
        """
        if self._args.node_fit:
            nodes = self._ready_nodes()
            if nodes is None or not nodes.have_room(pod):
                return "" if nodes is None else _FITS_NOWHERE
        if self._namespaces is None:
            return None
        namespace = self._sandbox.state.cluster.get(Namespace, pod.metadata.namespace)
        matches = namespace is not None and self._namespaces.matches(namespace.metadata.labels)
        return None if matches else _OTHER_NAMESPACE

    def pre_eviction_filter(self, pod: Pod) -> bool:
        """Whether `late_objection` does not protect the pod."""
        return self.late_objection(pod) is None

    def _ready_nodes(self) -> OtherNodes | None:
        """The cluster's ready nodes that match the evictor's node selector; None: it cannot be parsed.

        The policy's own node selector does not apply here.
        """
        if self._nodes is None:
            try:
                self._nodes = OtherNodes(self._sandbox, self._sandbox.ready_nodes(self._args.node_selector))
            except SelectorError:
                return None
        return self._nodes


def _protected(args: DefaultEvictorArgs) -> frozenset[str]:
    """The enabled protections (`getEffectivePodProtections`)."""
    chosen = args.pod_protections
    if chosen.extra_enabled or chosen.default_disabled:
        return frozenset({*DEFAULT_PROTECTIONS} - {*chosen.default_disabled} | {*chosen.extra_enabled})
    on = {
        "PodsWithLocalStorage": not args.evict_local_storage_pods,
        "DaemonSetPods": not args.evict_daemon_set_pods,
        "SystemCriticalPods": not args.evict_system_critical_pods,
        "FailedBarePods": not args.evict_failed_bare_pods,
        "PodsWithPVC": args.ignore_pvc_pods,
        "PodsWithoutPDB": args.ignore_pods_without_pdb,
    }
    return frozenset(name for name, is_on in on.items() if is_on)


def _protections(args: DefaultEvictorArgs, sandbox: Sandbox) -> Iterator[Check]:
    """The checks, in upstream's order."""
    on = _protected(args)
    yield _unmovable
    yield _static
    yield _terminating
    if "SystemCriticalPods" in on:
        yield _critical
        # QUIRK: without this protection, the threshold does not apply either.
        yield _above(args.priority_threshold.value if args.priority_threshold else None)
    yield _bare if "FailedBarePods" in on else _bare_but_failed
    if "PodsWithLocalStorage" in on:
        yield _local_storage
    if "DaemonSetPods" in on:
        yield _daemon_set
    if "PodsWithPVC" in on:
        yield _claims(args, sandbox)
    if "PodsWithoutPDB" in on:
        yield _without_budget
    if "PodsWithResourceClaims" in on:
        yield _resource_claims


def _conditions(args: DefaultEvictorArgs, sandbox: Sandbox) -> Iterator[Check]:
    selector = compile_selector(args.label_selector)
    if not (selector.nothing or selector.empty):
        yield (
            lambda pod: (
                ""
                if selector.matches(pod.metadata.labels)
                else "pod labels do not match the labelSelector filter in the policy parameter"
            )
        )
    if args.min_replicas > 1:
        yield lambda pod: _too_few(pod, args.min_replicas, sandbox)
    if args.min_pod_age is not None:
        yield _too_young(args.min_pod_age, sandbox)


def _unmovable(pod: Pod) -> str:
    return "pod is a mirror pod" if pod.metadata.annotations.mirror is not None else ""


def _static(pod: Pod) -> str:
    return "pod is a static pod" if pod.metadata.annotations.config_source not in (None, "api") else ""


def _terminating(pod: Pod) -> str:
    return "pod is terminating" if pod.metadata.deletion_timestamp is not None else ""


def _critical(pod: Pod) -> str:
    if pod.spec.priority is not None and pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY:
        return "pod has system critical priority and is protected against eviction"
    return ""


def _above(threshold: int | None) -> Check:
    bound = SYSTEM_CRITICAL_PRIORITY if threshold is None else threshold
    return lambda pod: (
        "pod has higher priority than specified priority class threshold"
        if pod.spec.priority is not None and pod.spec.priority >= bound
        else ""
    )


def _bare(pod: Pod) -> str:
    return "" if pod.metadata.owner_references else "pod does not have any ownerRefs"


def _bare_but_failed(pod: Pod) -> str:
    if pod.metadata.owner_references or pod.status.phase == "Failed":
        return ""
    return "pod does not have any ownerRefs and is not in failed phase"


def _local_storage(pod: Pod) -> str:
    if any(volume.empty_dir is not None or volume.host_path is not None for volume in pod.spec.volumes):
        return "pod has local storage and is protected against eviction"
    return ""


def _daemon_set(pod: Pod) -> str:
    if any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references):
        return "daemonset pods are protected against eviction"
    return ""


def _claims(args: DefaultEvictorArgs, sandbox: Sandbox) -> Check:
    """Pods with claims; with a list of storage classes, only pods with claims of these classes."""
    config = args.pod_protections.config
    protected = config.pods_with_pvc.protected_storage_classes if config and config.pods_with_pvc else ()
    names = frozenset(each.name for each in protected)

    def check(pod: Pod) -> str:
        claims = [each.persistent_volume_claim for each in pod.spec.volumes if each.persistent_volume_claim is not None]
        if not names:
            return "pod with PVC is protected against eviction" if claims else ""
        classes = [_storage_class(pod.metadata.namespace, claim.claim_name, sandbox) for claim in claims]
        unknown = next((why for name, why in classes if not name), "")
        return unknown or next(
            (f'pod using protected storage class "{name}"' for name, _ in classes if name in names), ""
        )

    return check


def _storage_class(namespace: str, name: str, sandbox: Sandbox) -> tuple[str, str]:
    """The claim's storage class, or "" and an error."""
    claim = sandbox.state.cluster.get(PersistentVolumeClaim, f"{namespace}/{name}")
    if claim is None:
        missing = f'persistentvolumeclaim "{name}" not found'
        return "", f'failed to get persistent volume claim "{namespace}"/"{name}": {missing}'
    unresolved = f'failed to resolve storage class for pod "{namespace}"/"{claim.metadata.name}"'
    return claim.spec.storage_class_name or "", unresolved


def _without_budget(pod: Pod) -> str:
    """QUIRK: the informer of budgets is never started, so no budget is found (`descheduler/descheduler.go`)."""
    del pod
    return "pod does not have a PodDisruptionBudget and is protected against eviction"


def _resource_claims(pod: Pod) -> str:
    if pod.spec.resource_claims:
        return "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods"
    return ""


def _too_few(pod: Pod, wanted: int, sandbox: Sandbox) -> str:
    owners = pod.metadata.owner_references
    if len(owners) != 1:
        return ""
    count = sandbox.replicas(owners[0], pod)
    return f"owner has {count} replicas which is less than minReplicas of {wanted}" if count < wanted else ""


def _too_young(text: str, sandbox: Sandbox) -> Check:
    least = parse_duration(text)
    # QUIRK: (metav1.Duration) the struct is printed, not the duration in it.
    reason = f"pod age is not older than MinPodAge: &Duration{{Duration:{go_duration(least)},}} seconds"

    def check(pod: Pod) -> str:
        start = pod.status.start_time
        return reason if start is None or sandbox.age(start) < least else ""

    return check
