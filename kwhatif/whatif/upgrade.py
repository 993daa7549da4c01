"""`upgrade`: what the scheduler of another release decides otherwise, about what waits and about what starts anew.

Two sessions of one cluster are asked the same: all pending pods, one after another; then every workload as if all of
its pods, and nobody else's, started anew. Of pods that differ in nothing but their names the first is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.batch import ScheduleResult, result_of
from kwhatif.framework.attempt import Attempt, attempt, fits_somewhere
from kwhatif.framework.columns import Columns
from kwhatif.framework.cycle import Cycle, CycleError
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.framework.reference import is_reference
from kwhatif.framework.scoring import score_nodes
from kwhatif.matching.pod_resources import PodResources
from kwhatif.model.caveat import Caveat
from kwhatif.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import Pod, is_terminal
from kwhatif.model.workload import (
    WORKLOADS,
)
from kwhatif.release.changes import Change, changes
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.inputs import SourceRow
from kwhatif.report.upgrade import LandingRow, UpgradeDifference, UpgradedRow, UpgradeRow, UpgradeRuleRow
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.caveats import caveats_of
from kwhatif.whatif.decide import decision_of
from kwhatif.whatif.judge import judge
from kwhatif.whatif.question import Question
from kwhatif.whatif.rows import decision_about, decision_about_result, owner_and_workload
from kwhatif.whatif.session import Session
from kwhatif.workloads.many import most_pods

#: Whose pods belong to no workload that starts them anew: mirror pods of static ones.
_NODE = "Node"


def ask_upgrade(
    before: Session, after: Session, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> Report:
    """The pending pods' decisions under the release of `after`, and all that it decides otherwise than `before`.

    Args:
        before: the cluster under the release that it runs.
        after: the same under the other one.
        progress: hears how many workloads are done, of how many.
    """
    return _Upgrade(before, after, progress).report()


class _Anew(NamedTuple):
    """Something whose pods start anew; pods of a controller that is not in the input stand for it."""

    name: str
    applied: Applied
    #: Its other pods, where it is a pod that stands for them.
    others: Sequence[Pod] = ()


class _Tried(NamedTuple):
    """One pod that starts anew, under one release; nothing was tried that is refused, or another scheduler's."""

    short: Decision
    attempt: Attempt | None = None
    result: ScheduleResult | None = None


#: Different requests of pods of which is kept what they find: each holds verdicts and scores of all nodes.
_KEPT = 24


class _Upgrade:
    def __init__(self, before: Session, after: Session, progress: Callable[[int, int], None]) -> None:
        self._progress = progress
        self._sessions = (before, after)
        self._versions = (before.scheduler.version, after.scheduler.version)
        differ = tuple(changes(*map(_minor, self._versions)))
        if not _count_otherwise(before, after):
            differ = tuple(change for change in differ if not change.of_resizes)
        self._differ = differ
        self._rules = tuple(map(_rule_row, differ))
        #: Where pods fit that no change is about, both decide the same.
        self._may_be_alike = not is_reference() and before.snapshot.nominated.keys() == after.snapshot.nominated.keys()
        self._caveats: dict[Caveat, None] = {}
        self._decisions: list[Decision] = []
        self._most = most_pods(after.cluster)
        #: By release and profile, and by what a pod requests: the `_KEPT` that were asked for last.
        self._found: dict[tuple[str, str], dict[PodResources, Columns]] = {}

    def report(self) -> Report:
        question = Question(pending_in="", full=True)
        was, now = (judge(session, question) for session in self._sessions)
        self._caveats.update(dict.fromkeys((*was.caveats, *now.caveats)))
        pending = list(self._pending(was.others, now.others))
        workloads, judged = self._workloads()
        _, after = self._sessions
        self._caveats.update(dict.fromkeys(after.left_out(after.cluster, self._decisions)))
        row = UpgradeRow(
            before=self._versions[0],
            after=self._versions[1],
            pending=tuple(pending),
            pending_judged=len(now.others),
            workloads=tuple(workloads),
            workloads_judged=judged,
            rules=self._rules,
        )
        return replace(after.report("upgrade", now.others, self._caveats), upgrade=row)

    # --- what waits ----------------------------------------------------------------------------------

    def _pending(self, was: Sequence[Decision], now: Sequence[Decision]) -> Iterator[UpgradedRow]:
        earlier = {decision.pod: decision for decision in was}
        for decision in now:
            before = earlier.get(decision.pod)
            if before is not None:
                yield from self._difference(f"Pod {decision.pod}", before, decision)

    def _difference(self, workload: str, before: Decision, after: Decision) -> Iterator[UpgradedRow]:
        was, now = _landing(before), _landing(after)
        if was == now:
            return
        plugins = tuple(sorted(set(_plugins_that_differ(before, after))))
        yield UpgradedRow(
            workload=workload,
            pod=after.pod,
            difference=_kind(was, now),
            before=was,
            after=now,
            plugins=plugins,
            rules=tuple(dict.fromkeys(rule.name for rule in self._rules if _is_of(rule, plugins))),
        )

    # --- what starts anew ----------------------------------------------------------------------------

    def _workloads(self) -> tuple[list[UpgradedRow], int]:
        rows: list[UpgradedRow] = []
        judged = 0
        for session in self._sessions:
            session.snapshot.prepare()  # for all forks
        workloads = list(started_anew(self._sessions[1].cluster))
        for done, anew in enumerate(workloads):
            self._progress(done, len(workloads))
            found = self._anew(anew)
            judged += found is not None
            rows.extend(found or ())
        return rows, judged

    def _anew(self, anew: _Anew) -> list[UpgradedRow] | None:
        """How the first of its pods of each kind lands otherwise; None where there is no pod to ask about."""
        alike = self._alike(anew)
        if alike is not None:
            self._decisions += alike
            return [] if alike else None
        rows: list[UpgradedRow] = []
        asked = False
        for was, now in zip(*(self._tried(session, anew) for session in self._sessions), strict=False):
            asked = True
            self._decisions.append(now.short)
            if rows or was.attempt is None or now.attempt is None or _fate(was) == _fate(now):
                continue
            rows.extend(self._difference(anew.name, decision_of(was.attempt), decision_of(now.attempt)))
        return rows if asked else None

    def _alike(self, anew: _Anew) -> Sequence[Decision] | None:
        """The decisions, where all its pods fit and no change is about any of them; None: both have to be asked."""
        found: list[Decision] = []
        for candidate, profile, state in self._pods_of(self._sessions[0], anew) if self._may_be_alike else ():
            pod = candidate.pod
            if candidate.refusal or profile is None or any(change.concerns(pod) for change in self._differ):
                return None
            if not fits_somewhere(profile, PodInfo(pod), state):
                return None
            found.append(decision_about(pod, "Placed"))
        return found if self._may_be_alike else None

    def _pods_of(self, session: Session, anew: _Anew) -> Iterator[tuple[Candidate, Profile | None, State]]:
        """One pod of each kind that it makes, whose profile that is, and the cluster without its pods."""
        state = session.snapshot.fork()
        planner = Planner(state.cluster, "end", {}, most=self._most)
        for pod in anew.others:
            planner.usage.release(pod)
        update = planner.plan(anew.applied)
        state.apply(*map(Delete.of, (*update.removed, *anew.others)))
        for group in update.added.groups:
            candidate = planner.admit_one(anew.applied, group)
            yield candidate, session.profiles.get(candidate.pod.spec.scheduler_name or DEFAULT_SCHEDULER), state

    def _tried(self, session: Session, anew: _Anew) -> Iterator[_Tried]:
        for candidate, profile, state in self._pods_of(session, anew):
            pod = candidate.pod
            if candidate.refusal:  # the API server's word, whatever the scheduler's release
                yield _Tried(decision_about(pod, "Denied", message=candidate.refusal))
            elif profile is None:
                yield _Tried(decision_about(pod, "Ignored"))
            else:
                info = PodInfo(pod)
                found = attempt(profile, info, state, columns=self._columns(session, profile, info))
                self._caveats.update(dict.fromkeys(caveats_of(found)))
                result = result_of(found)
                yield _Tried(decision_about_result(result), found, result)

    def _columns(self, session: Session, profile: Profile, pod: PodInfo) -> Columns:
        """What pods of these requests find on the whole cluster; nodes that pods have left are asked anew."""
        known = self._found.setdefault((session.scheduler.version, profile.scheduler_name), {})
        columns = known.pop(pod.resources, None)
        if columns is None:
            columns = Columns()
            cycle = Cycle(profile, pod, session.snapshot, columns)
            # Of a pod that fails, the attempt itself will say so.
            with suppress(CycleError):
                if cycle.pre_filter() and not profile.extenders:
                    cycle.filter_nodes()
                    score_nodes(cycle)
        known[pod.resources] = columns
        while len(known) > _KEPT:
            del known[next(iter(known))]
        return columns.fork()


def started_anew(cluster: Cluster) -> Iterator[_Anew]:
    """Every workload that makes pods by itself, by kind and name; then pods whose controller is not in the input."""
    covered: set[tuple[str, str]] = set()
    for kind in WORKLOADS:
        for key in sorted(cluster.all(kind)):
            obj = cluster.all(kind)[key]
            covered.add((kind.__name__, key))
            if not _has_known_controller(obj, cluster):
                yield _Anew(f"{kind.__name__} {key}", _applied(obj))
    groups: dict[str, list[Pod]] = {}
    for pod in cluster.all(Pod).values():
        owner = controller_of(pod.metadata)
        if is_terminal(pod) or not pod.spec.node_name or (owner is not None and owner.kind == _NODE):
            continue
        if owner is None or (owner.kind, f"{pod.metadata.namespace}/{owner.name}") not in covered:
            groups.setdefault(owner_and_workload(pod)[1] or f"Pod {key_of(pod)}", []).append(pod)
    for name in sorted(groups):
        first, *others = sorted(groups[name], key=key_of)
        yield _Anew(name, _applied(first), tuple(others))


def _has_known_controller(obj: KubernetesObject, cluster: Cluster) -> bool:
    """Whether another workload makes it: a Deployment's ReplicaSet, a CronJob's Job."""
    owner = controller_of(obj.metadata)
    kinds = {kind.__name__: kind for kind in WORKLOADS}
    if owner is None or owner.kind not in kinds:
        return False
    return f"{obj.metadata.namespace}/{owner.name}" in cluster.all(kinds[owner.kind])


def _applied(obj: KubernetesObject) -> Applied:
    name = f"{type(obj).__name__} {key_of(obj)}"
    return Applied(obj, SourceRow(file=name, object=name), anew=True)


# --- what is different -------------------------------------------------------------------------------


def _fate(tried: _Tried) -> object:
    result = tried.result
    if result is None:
        return None
    victims = tuple(victim.pod.key for victim in result.victims)
    return result.outcome, result.ties, victims, result.gated and result.gated.plugin


def _landing(decision: Decision) -> LandingRow:
    victims = tuple(victim.pod for victim in decision.victims)
    return LandingRow(outcome=decision.outcome, nodes=decision.ties, victims=victims)


def _kind(was: LandingRow, now: LandingRow) -> UpgradeDifference:
    if was.outcome != now.outcome:
        return "flipped"
    return "moved" if was.victims == now.victims else "victims"


def _plugins_that_differ(before: Decision, after: Decision) -> Iterator[str]:
    """The plugins whose scores or verdicts are not the same under both."""
    for gate in (before.pre_enqueue, after.pre_enqueue):
        if gate is not None and before.pre_enqueue != after.pre_enqueue:
            yield gate.plugin
    verdicts = [{row.node: row.plugin for row in each.rejected} for each in (before, after)]
    for node in verdicts[0].keys() | verdicts[1].keys():
        found = {each[node] for each in verdicts if node in each}
        if len(found) > 1 or not (node in verdicts[0] and node in verdicts[1]):
            yield from found
    scores = [{row.node: row.scores for row in each.feasible} for each in (before, after)]
    for node in scores[0].keys() & scores[1].keys():
        was, now = scores[0][node], scores[1][node]
        yield from (plugin for plugin in was.keys() | now.keys() if was.get(plugin, 0) != now.get(plugin, 0))


#: Whose verdicts and scores a gate changes; of those that begin with DRA it is DynamicResources.
_GATE_PLUGINS = {
    "DRAExtendedResource": ("DynamicResources", "NodeResourcesFit"),
    "DynamicResourceAllocation": ("DynamicResources", "NodeResourcesFit"),
    "InPlacePodLevelResourcesVerticalScaling": ("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    "NodeDeclaredFeatures": ("NodeDeclaredFeatures",),
    "PodLevelResources": ("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    "StorageCapacityScoring": ("VolumeBinding",),
    "PodLevelResourcesFixDefaulting": ("NodeResourcesFit", "NodeResourcesBalancedAllocation"),
    "VolumeAttributesClass": ("VolumeBinding",),
    "VolumeLimitScaling": ("NodeVolumeLimits",),
}


def _is_of(rule: UpgradeRuleRow, plugins: Sequence[str]) -> bool:
    of = (rule.plugin,) if rule.plugin else _GATE_PLUGINS.get(rule.gate, ("DynamicResources",))
    return not set(of).isdisjoint(plugins)


def _count_otherwise(before: Session, after: Session) -> bool:
    """Whether any pod requests something else under the one release than under the other."""
    pods = after.snapshot.pods
    return any(info.resources != pods[key].resources for key, info in before.snapshot.pods.items() if key in pods)


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def _rule_row(change: Change) -> UpgradeRuleRow:
    since = f"1.{change.since}"
    if not change.plugin:
        return UpgradeRuleRow(name=f"{change.what} ({since})", plugin="", since=since, gate=change.what)
    return UpgradeRuleRow(name=f"{change.plugin} ({since})", plugin=change.plugin, since=since, text=change.what)
