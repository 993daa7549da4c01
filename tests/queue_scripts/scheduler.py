"""The scheduler's loop around kwhatif's queue and cycle: one attempt after another, in the order of the README."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.kube.matching.nodes import HostPort, host_ports
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod, PodMeta, is_terminal
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.events import ASSIGNED_POD_DELETE
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.scheduler.queue.event_handlers import EventHandlers, FailedAttempt, handle_failure
from kwhatif.scheduler.queue.hinting import Preempting, QueueOptions, queue_profile
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo, pod_lister
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue, Witness
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.queue_scripts.api import Api, Watch, mirror, stamp

Tried = dict[str, Any]
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


def nominated_pods(queue: SchedulingQueue) -> dict[str, list[PodInfo]]:
    """Node -> pods nominated to it, the oldest nomination first (`NominatedPodsForNode`).

    QUIRK: (nominatedPodToInfo) a pod that is in no part of the queue, such as one in flight, has no requests.
    """
    return {node: [_nominated_pod(queue, *ref) for ref in refs] for node, refs in queue.nominator.nominated.items()}


def _nominated_pod(queue: SchedulingQueue, key: str, uid: str) -> PodInfo:
    info = queue.get(key)
    if info is not None:
        return info.pod_info
    namespace, _, name = key.partition("/")
    return PodInfo(Pod(metadata=PodMeta(namespace=namespace, name=name, uid=uid)))


class Scheduler:
    """One profile, no concurrency: every call is answered at once."""

    def __init__(self, api: Api, cluster: Cluster, options: QueueOptions, witness: Witness) -> None:
        self.api = api
        #: What the informers have seen; the queue's checks look at it, too.
        self.state = State(cluster)
        self.cluster = cluster = self.state.cluster
        self.lister = pod_lister(cluster)
        self.preempting = Preempting(self.lister)
        profile = default_profile()
        queue = queue_profile(profile, self.state, self.preempting)
        self._profile = replace(profile, pre_enqueue=())  # a pod that was popped is not asked again
        self.queue = SchedulingQueue({profile.scheduler_name: queue}, cluster, options, witness)
        self._assumed: dict[str, Pod] = {}
        #: Node -> host ports in use, counted as the scheduler's cache does.
        self._ports: dict[str, set[HostPort]] = {}
        for pod in cluster.all(Pod).values():
            self._count_ports(Watch(None, pod))
        self._handlers = EventHandlers(self.queue, {profile.scheduler_name}, self)

    # --- AssumedPods --------------------------------------------------------------------------------------

    def assumed(self, uid: str) -> Pod | None:
        return self._assumed.get(uid)

    def forget(self, uid: str) -> None:
        self._assumed.pop(uid, None)

    # --- watch events -------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Let the scheduler see whatever was written."""
        for watch in self.api.take():
            if isinstance(watch.new, Pod) and watch.new.spec.node_name:
                self._assumed.pop(watch.new.metadata.uid, None)
            mirror(self.state, watch)
            self._count_ports(watch)
            self._handlers.handle(watch.old, watch.new)

    def _count_ports(self, watch: Watch) -> None:
        """QUIRK: (types.go, HostPortInfo) a port that two pods hold is free as soon as one of them goes."""
        for pod, count in ((watch.old, set.difference_update), (watch.new, set.update)):
            if isinstance(pod, Pod) and pod.spec.node_name and not is_terminal(pod):
                count(self._ports.setdefault(pod.spec.node_name, set()), host_ports(pod.spec))

    # --- an attempt ---------------------------------------------------------------------------------------

    def schedule_one(self, during: Callable[[], None], fail: str) -> Tried | None:
        info = self.queue.pop()
        if info is None:
            return None
        pod = info.pod_info.pod
        if pod.metadata.deletion_timestamp is not None:
            self.queue.done(info.uid)
            return {"pod": info.key, "result": "Skipped"}
        result = self._cycle(info)
        if result.scores is None:
            return self._failed(info, result, during, fail)
        node = min(result.scores.best())
        return self._bind(info, result, node, during, fail)

    def _cycle(self, info: QueuedPodInfo) -> Attempt:
        snapshot = State(self.cluster.fork())
        snapshot.apply(Delete(Pod, info.key))
        for node in snapshot.nodes:
            node._used_ports = set(self._ports.get(node.name, ()))
        # As the queue knows them: one that is in flight has no requests, so it is another pod than the cluster's.
        nominated = nominated_pods(self.queue)
        others = {name: tuple(pod for pod in pods if pod.key in snapshot.pending) for name, pods in nominated.items()}
        nominations = snapshot._pods.nominations
        nominations.by_node = {name: pods for name, pods in others.items() if pods}
        nominations.node_of = {pod.key: name for name, pods in others.items() for pod in pods}
        return attempt(self._profile, info.pod_info, snapshot)

    # --- no node ------------------------------------------------------------------------------------------

    def _failed(self, info: QueuedPodInfo, result: Attempt, during: Callable[[], None], fail: str) -> Tried:
        found = result.post_filter
        outcome = found.outcome if found is not None else None
        victims: list[PodInfo] = []
        nominated = "" if found is None else found.nominated
        if isinstance(outcome, Preemption) and outcome.node:
            victims = [pod for pod in outcome.candidates[0].pods if not pod.terminating]
            if victims:
                self.preempting.start(info.uid)
        if found is not None and "deallocation of ResourceClaim completed" in found.status.message:
            self._deallocate(result)
        during()
        rejectors = () if result.failed else sorted(result.cycle.unschedulable_plugins)
        reason = "SchedulerError" if result.failed else "Unschedulable"
        self._handle_failure(info, FailedAttempt(rejectors, (), nominated), reason, result.message)
        tried: Tried = {
            "pod": info.key,
            "result": "Error" if result.failed else "Unschedulable",
            "message": result.message,
        }
        tried["rejectedBy"] = rejectors
        if nominated and found is not None and found.status.code is Code.SUCCESS:
            tried["nominated"] = nominated
        if victims:
            tried["victims"] = self._preempt(info, nominated or "", victims, fail == "evict")
        return tried

    def _deallocate(self, result: Attempt) -> None:
        """A claim that nobody uses, and that is in the way, is given up."""
        claims = result.cycle.compiled["DynamicResources"]
        assert isinstance(claims, ClaimFilter)
        given_up = {"status": {"allocation": None, "reservedFor": None, "devices": None}}
        self.api.patch("ResourceClaim", min(claims.idle & claims.unavailable), given_up)

    def _handle_failure(self, info: QueuedPodInfo, failed: FailedAttempt, reason: str, message: str) -> None:
        pod = handle_failure(self.queue, info, failed, self.lister)
        if pod is None:
            return
        status: dict[str, Any] = {}
        raw = self.api.find("Pod", key_of(pod))
        if raw is None or raw["metadata"]["uid"] != pod.metadata.uid:
            return
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        conditions = raw.get("status", {}).get("conditions", [])
        others = [one for one in conditions if one["type"] != "PodScheduled"]
        if condition not in conditions:
            status["conditions"] = [*others, condition]
        nominated = failed.nominated_node_name
        if nominated is not None and nominated != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated or None
        if status:
            self.api.patch("Pod", info.key, {"status": status})
        self.deliver()

    def _preempt(self, info: QueuedPodInfo, node: str, victims: list[PodInfo], refused: bool) -> list[str]:
        for other in nominated_pods(self.queue).get(node, ()):
            if other.priority < info.pod_info.priority and other.pod.status.nominated_node_name:
                self.api.patch("Pod", other.key, {"status": {"nominatedNodeName": None}})
        sent = []
        for victim in victims:
            if victim is victims[-1]:
                self.preempting.reach_last(info.uid, victim.key)
            self._mark(victim.key, info)
            if refused:
                break
            if self.terminate(victim.key):
                sent.append(victim.key)
        self.preempting.end(info.uid)
        if refused:
            self.queue.activate([info.pod_info])
        self.deliver()
        return sent

    def _mark(self, key: str, info: QueuedPodInfo) -> None:
        raw = self.api.find("Pod", key)
        if raw is None:
            return
        name = info.pod_info.pod.spec.scheduler_name
        message = f"{name}: preempting to accommodate a higher priority pod"
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": message,
        }
        conditions = [one for one in raw.get("status", {}).get("conditions", []) if one["type"] != "DisruptionTarget"]
        self.api.patch("Pod", key, {"status": {"conditions": [*conditions, condition]}})

    def terminate(self, key: str) -> bool:
        """A DELETE of the pod; whether it was there."""
        raw = self.api.find("Pod", key)
        if raw is None:
            return False
        if not raw["spec"].get("nodeName"):
            return self.api.delete("Pod", key)
        if not raw["metadata"].get("deletionTimestamp"):
            grace = raw["spec"].get("terminationGracePeriodSeconds", 30)
            self.api.mark_deleted(key, stamp(self.queue.now + grace * 1_000_000_000))
        return True

    # --- a node -------------------------------------------------------------------------------------------

    def _bind(self, info: QueuedPodInfo, result: Attempt, node: str, during: Callable[[], None], fail: str) -> Tried:
        pod = info.pod_info.pod
        changed = self._reserve(result, node)
        assumed = replace(pod, spec=replace(pod.spec, node_name=node))
        self._assumed[info.uid] = assumed
        self.queue.nominator.delete(info.uid)
        during()
        self.queue.done(info.uid)
        if changed:
            self.api.patch("Pod", info.key, {"status": {"nominatedNodeName": node}})
        self._pre_bind(changed, node)
        gone = self.api.find("Pod", info.key) is None
        if fail == "bind" or gone:
            refusal = "bind refused" if fail == "bind" else f'pods "{info.pod_info.name}" not found'
            message = f'running Bind plugin "DefaultBinder": {refusal}'
            self._unreserve(changed, info.uid)
            self.forget(info.uid)
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, assumed, None)
            self._handle_failure(info, FailedAttempt(), "SchedulerError", message)
            return {"pod": info.key, "result": "Error", "message": message}
        self.api.bind(info.key, node, stamp(self.queue.now))
        self.deliver()
        return {"pod": info.key, "result": "Scheduled", "node": node}

    @staticmethod
    def _reserve(result: Attempt, node: str) -> list[Any]:
        """What Reserve changes of claims and volumes, in order."""
        return list(result.cycle.reserve(result.cycle.state.by_name[node]))

    def _pre_bind(self, changed: list[Any], node: str) -> None:
        for obj in changed:
            if isinstance(obj, PersistentVolume):
                self._bind_volume(obj)
            elif isinstance(obj, PersistentVolumeClaim):
                self._provision(key_of(obj), node)
            else:
                self._allocate(obj)

    def _unreserve(self, changed: list[Any], uid: str) -> None:
        """The pod no longer uses its claims; they keep what they were given."""
        for obj in changed:
            raw = self.api.find("ResourceClaim", key_of(obj)) if isinstance(obj, ResourceClaim) else None
            if raw is not None:
                users = [user for user in raw.get("status", {}).get("reservedFor", []) if user["uid"] != uid]
                self.api.patch("ResourceClaim", key_of(obj), {"status": {"reservedFor": users or None}})

    def _write(self, kind: str, key: str, patch: dict[str, Any]) -> None:
        """A write whose event arrives at once, before those that are pending."""
        pending = self.api.take()
        self.api.patch(kind, key, patch)
        self.deliver()
        self.api.pending = pending + self.api.pending

    def _bind_volume(self, volume: PersistentVolume) -> None:
        name, ref = volume.metadata.name, volume.spec.claim_ref
        assert ref is not None
        claim_ref = {"kind": "PersistentVolumeClaim", "namespace": ref.namespace, "name": ref.name, "uid": ref.uid}
        self._write("PersistentVolume", name, {"spec": {"claimRef": claim_ref}})
        self._write("PersistentVolume", name, {"status": {"phase": "Bound"}})
        self._complete(f"{ref.namespace}/{ref.name}", name)

    def _complete(self, claim: str, volume: str) -> None:
        patch = {
            "metadata": {"annotations": {BIND_COMPLETED: "yes"}},
            "spec": {"volumeName": volume},
            "status": {"phase": "Bound"},
        }
        self._write("PersistentVolumeClaim", claim, patch)

    def _provision(self, key: str, node: str) -> None:
        self._write("PersistentVolumeClaim", key, {"metadata": {"annotations": {SELECTED_NODE: node}}})
        raw = self.api.find("PersistentVolumeClaim", key)
        assert raw is not None
        namespace, _, name = key.partition("/")
        spec = raw["spec"]
        class_name = spec.get("storageClassName", "")
        storage_class = self.api.find("StorageClass", class_name) or {}
        volume = f"pvc-{namespace}-{name}"
        pending = self.api.take()
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {
                    "capacity": spec.get("resources", {}).get("requests", {}),
                    "accessModes": spec.get("accessModes", []),
                    "storageClassName": class_name,
                    "claimRef": {"namespace": namespace, "name": name, "uid": raw["metadata"]["uid"]},
                    "csi": {"driver": storage_class.get("provisioner", ""), "volumeHandle": volume},
                },
                "status": {"phase": "Bound"},
            }
        )
        self.deliver()
        self.api.pending = pending + self.api.pending
        self._complete(key, volume)

    def _allocate(self, claim: ResourceClaim) -> None:
        key = key_of(claim)
        status = msgspec.to_builtins(claim.status)
        pending = self.api.take()
        self.api.patch("ResourceClaim", key, {"status": status})
        for watch in self.api.take():
            mirror(self.state, watch)
            self._handlers.handle(watch.old, watch.new)
        self.api.pending = pending
