"""The pods that block a drain, and why: by class, in the order in which the classes are checked."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.disruption import counted_status
from kwhatif.controllers.budget_pods import pods_selected_by
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import FLAGS, list_pods
from kwhatif.controllers.eviction import MANY_BUDGETS, EvictionRefused, sync_failure
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.duration import go_duration
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.report.maintenance import BlockedCause, BlockedRow
from kwhatif.simulation.engine import Engine


def blocked_pods(drain: KubectlDrain, engine: Engine, before: Cluster) -> Iterator[BlockedRow]:
    """The pods that are left on the drain's nodes once everything has settled; `before`: the cluster as it was."""
    found: set[str] = set()
    for row in _still_there(drain, engine, before):
        found.add(row.pod)
        yield row
    for key in drain.log.given_up:
        if key not in found:
            timeout = go_duration(round(drain.options.timeout * 10**9))
            yield BlockedRow(pod=key, class_="late", cause="timeout", about=timeout)


def _still_there(drain: KubectlDrain, engine: Engine, before: Cluster) -> Iterator[BlockedRow]:
    for node in drain.nodes:
        listed = list_pods(node, drain.options, engine.world)
        for pod, verdict in listed.pods:
            key = key_of(pod)
            if verdict.error:
                yield BlockedRow(pod=key, class_="refused", cause="refused-by-kubectl", about=_refused(verdict.error))
            elif verdict.goes and not listed.errors:
                yield _blocked(pod, drain, engine, before)


def _refused(error: str) -> str:
    """Kubectl's message without the flag, which is the remedy."""
    flag = FLAGS.get(error)
    return error if flag is None else error.partition(" (use ")[0]


def _blocked(pod: Pod, drain: KubectlDrain, engine: Engine, before: Cluster) -> BlockedRow:
    key = key_of(pod)
    refused = drain.log.refusals.get(key)
    if pod.metadata.deletion_timestamp is not None:
        silent = pod.spec.node_name in engine.world.silent
        cause: BlockedCause = "kubelet-silent" if silent else "finalizer" if pod.metadata.finalizers else "slow"
        return BlockedRow(pod=key, class_="never-ends", cause=cause)
    if refused is None or not refused.budgets:
        return _never_asked(pod, drain)
    if refused.message == MANY_BUDGETS:
        return BlockedRow(pod=key, class_="many-budgets", cause="many-budgets", budgets=refused.budgets)
    return _by_budget(pod, refused, engine, before)


def _never_asked(pod: Pod, drain: KubectlDrain) -> BlockedRow:
    key, node = key_of(pod), pod.spec.node_name
    first = next((name for name in drain.nodes if name not in drain.failures), node)
    if not drain.done and first != node:
        return BlockedRow(pod=key, class_="late", cause="endless-drain", about=first)
    return BlockedRow(pod=key, class_="late", cause="came-late")


def _by_budget(pod: Pod, refused: EvictionRefused, engine: Engine, before: Cluster) -> BlockedRow:
    key = refused.budgets[0]
    failed = sync_failure(key, engine.world)
    if failed is not None:
        return BlockedRow(
            pod=key_of(pod), class_="sync-failed", cause="sync-failed", about=failed.reason, budgets=(key,)
        )
    budget = engine.world.state.cluster.all(PodDisruptionBudget)[key]
    status = budget.status or PodDisruptionBudgetStatus()
    members = [
        each
        for each in pods_selected_by(key, engine.world.state.cluster)
        if each.metadata.deletion_timestamp is None and not is_terminal(each)
    ]

    def row(class_: str, cause: BlockedCause, about: str = "") -> BlockedRow:
        return BlockedRow(
            pod=key_of(pod),
            class_=class_,
            cause=cause,
            about=about,
            budgets=(key,),
            needed=status.desired_healthy,
            healthy=status.current_healthy,
        )

    if not is_ready(pod):
        return row("unhealthy-lock", "unready-itself")
    if _demands_all(key, before):
        return row("demands-all", "demands-all")
    waiting = [each for each in members if not each.spec.node_name]
    if waiting:
        return row("no-room", "pending-member", key_of(waiting[0]))
    unready = [each for each in members if not is_ready(each)]
    if unready:
        return row("unhealthy", "unready-member", key_of(unready[0]))
    if status.disruptions_allowed > 0:
        return row("late", "allowed-late")
    if any(controller_of(each.metadata) is None for each in members):
        return row("no-successor", "bare-members")
    return row("no-successor", "no-maker")


def _demands_all(key: str, cluster: Cluster) -> bool:
    """Whether it would allow no disruption even with all desired pods ready."""
    budget = cluster.get(PodDisruptionBudget, key)
    if budget is None:
        return False
    pods = [pod for pod in pods_selected_by(key, cluster) if pod.metadata.deletion_timestamp is None]
    status = counted_status(budget, pods, cluster)
    if not isinstance(status, PodDisruptionBudgetStatus):
        return False
    return status.desired_healthy >= status.expected_pods or status.expected_pods <= 0
