"""What is worse at the end of a what-if than without it, as rows: one for each workload and cause."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.outcome import LimitRangeViolated, PodSecurityViolated, QuotaExceeded, Refusal
from kwhatif.controllers.disruption import budget_pods, pods_selected_by
from kwhatif.controllers.taint_eviction import stays_for_ever
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import CutAtHorizon
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.audit.causes import PendingCause, cause_of
from kwhatif.questions.audit.scenario import AuditScenario, EditSimulation, Stage
from kwhatif.questions.maintenance.drain import DrainSimulation
from kwhatif.questions.maintenance.outage import OutageSimulation, goes_with_its_node
from kwhatif.questions.session.node_autoscalers import nodes_not_added
from kwhatif.questions.story.caveats import caveats_of_end
from kwhatif.questions.story.outcome import who
from kwhatif.questions.story.settled_cluster import Simulation
from kwhatif.report.risks import AuditCause, AuditHarm, HarmRow, ProbeName
from kwhatif.report.story import BlockedRow, PendingRow
from kwhatif.scheduler.framework.profile import profile_of

_BLOCKED: Mapping[str, AuditCause] = {
    "demands-all": "demands-all",
    "many-budgets": "many-budgets",
    "sync-failed": "sync-failed",
    "unready-itself": "unready",
    "unready-member": "unready",
    "bare-members": "no-successor",
    "no-maker": "no-successor",
    "finalizer": "never-ends",
    "slow": "never-ends",
    "kubelet-silent": "never-ends",
}

#: Why a lost pod is not evicted.
_STAYS: Mapping[str, AuditCause] = {
    "tolerates": "tolerates",
    "toleration-unknown": "toleration-unknown",
    "zone-lost": "zone-lost",
}


def harms_of(played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
    """Everything that is worse, whatever the what-if was."""
    found = _Found(played, scenario, stage)
    pending = [*found.pending(), *found.unattached()]
    yield from pending
    yield from found.refused()
    yield from found.failed()
    yield from found.endless()
    if isinstance(played, EditSimulation):
        return
    lost = list(found.lost({row.subject: row for row in reversed(pending)}))
    yield from lost
    yield from found.left_behind({row.subject for row in lost})
    if scenario.probe != "zone":
        yield from found.broken()


class PlayedProbe:
    """The common part of all what-ifs of a kind that are simulated."""

    name: ProbeName

    def harms(self, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow | Caveat]:
        """What is wrong at the end, and caveats."""
        played = stage.played(scenario)
        cut = played.engine.parameters.horizon if played.is_cut else None
        for row in self.found(played, scenario, stage):
            yield row if cut is None else replace(row, cut=cut)
        yield from caveats_of_end(played.engine)
        if cut is not None:
            yield CutAtHorizon(what_ifs=(scenario.name,), horizon=cut)
        played.engine.end()

    def found(self, played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
        """What is wrong at the end: everything that is worse, unless the probe looks for something else."""
        return harms_of(played, scenario, stage)


class _Found:
    """One played what-if."""

    def __init__(self, played: Simulation, scenario: AuditScenario, stage: Stage) -> None:
        self._played = played
        self._engine = played.engine
        self._ending = played.ending
        self._scenario = scenario
        self._stage = stage
        self._state = played.engine.api_server.state

    def _row(self, harm: AuditHarm, cause: AuditCause, subject: str, **fields: Any) -> HarmRow:
        scenario = self._scenario
        return HarmRow(probe=scenario.probe, scenario=scenario.about, harm=harm, cause=cause, subject=subject, **fields)

    # --- pods that find no node ----------------------------------------------------------------------

    def pending(self) -> Iterator[HarmRow]:
        """Pods that stay pending, by workload and cause."""
        groups: dict[tuple[str, PendingCause], list[PendingRow]] = {}
        for row in self._ending.pending:
            if not row.anyway:
                groups.setdefault((who(row), self._cause(row)), []).append(row)
        for (subject, cause), rows in groups.items():
            first = rows[0]
            pod = self._state.cluster.get(Pod, first.pod)
            yield self._row(
                "data-blocked" if cause.kind == "volume" else "pods-pending",
                cause.kind,
                subject,
                about=cause.about,
                pool=cause.pool,
                pods=sum(row.count for row in rows),
                of=self._ending.standing(subject).pods,
                priority=max(row.priority for row in rows),
                example=first.pod,
                said=first.message,
                autoscaled=pod is not None and self._may_get_a_node(pod, cause),
            )

    def _cause(self, row: PendingRow) -> PendingCause:
        info = self._state.pending.get(row.pod)
        if info is None:  # not created: all nodes together have no room
            return PendingCause("room")
        known, place = self._stage.causes, (who(row), row.message, self._scenario.nodes)
        if place not in known:
            profile = profile_of(info.pod, self._engine.scheduler.profiles)
            known[place] = cause_of(profile, info, self._state, self._scenario.nodes)
        return known[place]

    def _may_get_a_node(self, pod: Pod, cause: PendingCause) -> bool:
        """Whether an autoscaler runs that may add a node for it: only for causes where a node helps."""
        if cause.kind not in ("room", "anti-affinity", "ports"):
            return False
        return any(not caveat.objections for caveat in nodes_not_added(self._state.cluster, [pod]))

    def unattached(self) -> Iterator[HarmRow]:
        """Pods whose volume is bound to another node, by workload."""
        without = self._ending.without
        anyway = set() if without is None else without.kubelets.attachments.waiting.keys()
        groups: dict[str, list[tuple[str, str]]] = {}
        for key, said in sorted(self._engine.kubelets.attachments.waiting.items()):
            if key not in anyway:
                groups.setdefault(self._root(key), []).append((key, said))
        for subject, pods in groups.items():
            yield self._row(
                "data-blocked",
                "volume",
                subject,
                pods=len(pods),
                of=self._ending.standing(subject).pods,
                priority=self._priority(subject),
                example=pods[0][0],
                said=pods[0][1],
            )

    # --- pods that are not made ----------------------------------------------------------------------

    def refused(self) -> Iterator[HarmRow]:
        """Workloads whose new pods the API server refuses."""
        for row in self._ending.refused:
            count = self._ending.lacks(row.workload)
            if row.anyway or not (count or isinstance(self._played, EditSimulation)):
                continue
            kind, about = _refused_by(row.refusal)
            of = self._ending.standing(row.workload).pods
            yield self._row(
                "pods-refused",
                kind,
                row.workload,
                about=about,
                pods=max(count, 1),
                of=of,
                priority=self._priority(row.workload),
                said=row.message.rpartition(" is forbidden: ")[2],
                refusal=row.refusal,
            )

    def failed(self) -> Iterator[HarmRow]:
        """Jobs that fail."""
        for row in self._ending.failed:
            if not row.anyway:
                yield self._row(
                    "pods-refused",
                    "job",
                    row.workload,
                    pods=1,
                    of=1,
                    priority=self._priority(row.workload),
                    said=row.message,
                )

    def endless(self) -> Iterator[HarmRow]:
        """Workloads that replace each other without end."""
        worst = self._played.worst_unsettled()
        if worst is not None:
            names = worst.messages or (self._scenario.about,)
            yield self._row(
                "pods-pending", "loop", names[0], about=names, pods=len(names), priority=self._priority(names[0])
            )

    # --- workloads that are lost ---------------------------------------------------------------------

    def lost(self, pending: Mapping[str, HarmRow]) -> Iterator[HarmRow]:
        """Workloads without a ready pod: for good, or, if they have several pods, for a while.

        `pending`: by workload, why its pods find no node.
        """
        for name, after in self._engine.tally.workloads.items():
            before = self._ending.standing(name)
            if not before.ready or after is before or name.startswith("Job "):
                continue
            if goes_with_its_node(name, self._stage.cluster):
                continue
            if not after.ready:
                if name in pending:
                    yield replace(pending[name], harm="service-lost", pods=before.ready, of=before.pods)
                elif (cause := self._why_not_back(name)) is not None:
                    yield self._lost(name, cause, before.ready, None)
            elif not after.ready_lowest and before.ready > 1 and before.ready_lowest:
                cause = "one-zone" if self._scenario.probe == "zone" else "one-node"
                yield self._lost(name, cause, before.ready, self._played.seconds)

    def _lost(self, name: str, cause: AuditCause, pods: int, seconds: float | None) -> HarmRow:
        return self._row(
            "service-lost", cause, name, pods=pods, of=pods, priority=self._priority(name), seconds=seconds
        )

    def _why_not_back(self, workload: str) -> AuditCause | None:
        """About a workload without a ready pod at the end, none of which is pending; None if other rows say it."""
        if workload.startswith("Pod "):
            return None
        causes = {row.cause for row in self._played.blocked if self._root(row.pod) == workload}
        if "node-silent" in causes or "node-deleted" in causes:
            return "node-silent"
        return next((cause for known, cause in _STAYS.items() if known in causes), None)

    def left_behind(self, lost: Collection[str]) -> Iterator[HarmRow]:
        """Pods that are not evicted, or not replaced; not those of workloads that are `lost` anyway."""
        rows: dict[tuple[str, AuditHarm, AuditCause], list[BlockedRow]] = {}
        for row in self._played.blocked:
            found = self._kind_of(row)
            if found is not None and (found[0] not in lost or found[1] == "drain-blocked"):
                rows.setdefault(found, []).append(row)
        for (subject, harm, cause), same in rows.items():
            first = same[0]
            owners = tuple(dict.fromkeys(self._root(row.pod) for row in same))
            yield self._row(
                harm,
                cause,
                subject,
                about=first.budgets if cause == "many-budgets" else owners if subject not in owners else (),
                pods=len(same),
                priority=max(map(self._priority, owners), default=0),
                example=first.pod,
                said=first.about,
            )
        if isinstance(self._played, DrainSimulation):
            for key in self._played.gone:
                if controller_of(self._pod(key).metadata) is None:
                    yield self._bare(key)

    def _kind_of(self, row: BlockedRow) -> tuple[str, AuditHarm, AuditCause] | None:
        """The workload that a blocked pod harms, how and why; None if another row says it."""
        if isinstance(self._played, OutageSimulation):
            if row.cause == "bare":
                return f"Pod {row.pod}", "no-way-back", "bare"
            stays = _STAYS.get(row.cause or "") if row.cause != "zone-lost" else None
            if stays is None or (stays == "tolerates" and self._is_still_due(row.pod)):
                return None
            return self._root(row.pod), "pods-pending", stays
        cause = _BLOCKED.get(row.cause or "")
        if cause is None:
            return None
        subject = f"PodDisruptionBudget {row.budgets[0]}" if row.budgets else self._root(row.pod)
        return subject, "drain-blocked", cause

    def _is_still_due(self, key: str) -> bool:
        """Whether the pod is evicted after the simulated time: in a large zone nodes are tainted one at a time."""
        pod = self._state.cluster.all(Pod)[key]
        node = self._state.cluster.get(Node, pod.spec.node_name)
        return self._engine.is_over_horizon and node is not None and not stays_for_ever(pod, node)

    def _bare(self, key: str) -> HarmRow:
        subject = f"Pod {key}"
        return self._row("no-way-back", "bare", subject, pods=1, of=1, priority=self._priority(subject), example=key)

    def broken(self) -> Iterator[HarmRow]:
        """Budgets that lack more pods than one eviction would take, although they allowed some."""
        before, base = self._engine.tally.budgets_before, self._stage.cluster
        for key, count in self._ending.overruns.items():
            if before.get(key, 0) > 0:
                pods = pods_selected_by(key, base)
                yield self._row(
                    "budget-broken",
                    "one-node" if isinstance(self._played, OutageSimulation) else "priority",
                    f"PodDisruptionBudget {key}",
                    pods=count,
                    of=len(pods),
                    priority=max((pod.spec.priority or 0 for pod in pods), default=0),
                    seconds=self._played.seconds,
                )

    def evicted(self, about: str) -> Iterator[HarmRow]:
        """Workloads that matter, have no priority class, and lose all ready pods, or more than their budget allows.

        A workload matters if a budget selects it, or if it is part of the system.
        """
        gone: dict[str, int] = {}
        for uid, each in self._engine.api_server.history.gone.items():
            if each.how == "Preempted" and each.owner and not self._ending.is_gone_anyway(uid, each):
                gone[each.owner] = gone.get(each.owner, 0) + 1
        cluster = self._stage.cluster
        budgets = budget_pods(cluster)
        pods = {
            self._engine.tally.root(info.pod): info.pod
            for info in self._stage.base.engine.api_server.state.pods.values()
        }
        for name, count in sorted(gone.items()):
            pod = pods.get(name)
            if pod is None or pod.spec.priority_class_name:
                continue
            of_it = budgets.budgets_of(pod)
            is_lost = not self._engine.tally.workloads[name].ready
            is_broken = any(key in self._ending.overruns for key in of_it)
            if is_broken or (is_lost and (of_it or pod.metadata.namespace == "kube-system")):
                yield self._row(
                    "evictable",
                    "priority",
                    name,
                    about=(about,),
                    pods=count,
                    of=self._ending.standing(name).pods,
                    priority=self._priority(name),
                )

    # --- what is known of pods -----------------------------------------------------------------------

    def _pod(self, key: str) -> Pod:
        pods = self._stage.base.engine.api_server.state.cluster.all(Pod)
        return pods[key] if key in pods else self._state.cluster.all(Pod)[key]

    def _root(self, key: str) -> str:
        pods = self._stage.base.engine.api_server.state.cluster.all(Pod)
        pod = pods.get(key) or self._state.cluster.get(Pod, key)
        return f"Pod {key}" if pod is None else self._engine.tally.root(pod)

    def _priority(self, workload: str) -> int:
        return self._stage.priorities.get(workload, 0)


def evicted_by(played: Simulation, scenario: AuditScenario, stage: Stage) -> Iterator[HarmRow]:
    """The workloads that matter and are evicted for the pods of a class."""
    return _Found(played, scenario, stage).evicted(scenario.about)


def _refused_by(refusal: Refusal | None) -> tuple[AuditCause, tuple[str, ...]]:
    """The part of the API server that refuses a pod, and the subject."""
    match refusal:
        case QuotaExceeded():
            return "quota", (refusal.quota,)
        case PodSecurityViolated():
            return "pod-security", ()
        case LimitRangeViolated():
            return "limits", ()
    return "admission", ()
