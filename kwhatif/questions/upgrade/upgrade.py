"""`upgrade`: what the scheduler of another release decides differently about pending and about restarted pods.

Two sessions of one cluster get the same questions: all pending pods, in order; then every workload as if all of
its pods, and no others, were restarted. Of pods that differ only in their names the first is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.matching.pods import ALL_PODS
from kwhatif.kube.matching.requests import PodResources
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.decide import decision_of
from kwhatif.questions.decisions.described import caveats_of
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import Restarted, restarted_workloads
from kwhatif.questions.manifests.new_pods import NewPod, NewPods, Planner
from kwhatif.questions.rows import decision_about, decision_about_result
from kwhatif.questions.session.session import Session
from kwhatif.questions.upgrade.blame import Ask, Blame, Fate
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.differences import LandingRow, UpgradeDifference, UpgradedRow, UpgradeRow, UpgradeRuleRow
from kwhatif.scheduler.batch import ScheduleResult, result_of
from kwhatif.scheduler.framework.attempt import Attempt, attempt, fits_somewhere
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import NodeResultCache
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.scoring import score_nodes
from kwhatif.scheduler.release.changes import ReleaseChange, changes
from kwhatif.simulation.api_server import ApiServer
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.counts import most_pods

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


#: Finds the changes that decide, where verdicts or scores of these plugins differ.
FindRules = Callable[[Sequence[str]], Iterable[ReleaseChange]]


def difference(workload: str, before: Decision, after: Decision, find_rules: FindRules) -> Iterator[UpgradedRow]:
    """What differs for a pod after the upgrade, and because of which rules; empty if nothing does."""
    was, now = landing_of(before), landing_of(after)
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
        rules=tuple(dict.fromkeys(rule_row(change).name for change in find_rules(plugins))),
    )


def landing_of(decision: Decision) -> LandingRow:
    """Where the pod lands."""
    victims = tuple(victim.pod for victim in decision.victims)
    return LandingRow(outcome=decision.outcome, nodes=decision.ties, victims=victims)


def _kind(was: LandingRow, now: LandingRow) -> UpgradeDifference:
    if was.outcome != now.outcome:
        return "flipped"
    return "moved" if was.victims == now.victims else "victims"


def _plugins_that_differ(before: Decision, after: Decision) -> Iterator[str]:
    """The plugins whose scores or verdicts differ."""
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


def is_of(change: ReleaseChange, plugins: Sequence[str]) -> bool:
    """Whether the change itself affects verdicts or scores of these plugins, and not only its consequences."""
    of = (change.plugin,) if change.plugin else _GATE_PLUGINS.get(change.what, ("DynamicResources",))
    return not set(of).isdisjoint(plugins)


def rule_row(change: ReleaseChange) -> UpgradeRuleRow:
    """A change of a rule between two releases."""
    since = f"1.{change.since}"
    if not change.plugin:
        return UpgradeRuleRow(name=f"{change.what} ({since})", plugin="", since=since, gate=change.what)
    return UpgradeRuleRow(name=f"{change.plugin} ({since})", plugin=change.plugin, since=since, text=change.what)


class RestartedPod(NamedTuple):
    """One restarted pod under one release; pods that are refused, or are another scheduler's, are not tried."""

    short: Decision
    attempt: Attempt | None = None
    result: ScheduleResult | None = None


def fate_of(tried: RestartedPod) -> object:
    """The fate of the pod: equal fates are the same answer."""
    result = tried.result
    if result is None:
        return None
    victims = tuple(victim.pod.key for victim in result.victims)
    return result.outcome, result.ties, victims, result.gated and result.gated.plugin


def ask_upgrade(
    before: Session, after: Session, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> Report:
    """The pending pods' decisions under the release of `after`, and all that it decides differently from `before`.

    Args:
        before: the cluster under the release that it runs.
        after: the same under the other one.
        progress: called with the number of workloads done, and the total.
    """
    return _Upgrade(before, after, progress).report()


#: All pending pods, in order.
_PENDING = Question(pending=ALL_PODS, explain="outcomes", counts_pending=True)
#: The number of different pod requests with kept results: each has verdicts and scores of all nodes.
_KEPT = 24


class _Upgrade:
    def __init__(self, before: Session, after: Session, progress: Callable[[int, int], None]) -> None:
        self._progress = progress
        self._sessions = (before, after)
        self._versions = (before.scheduler.version, after.scheduler.version)
        self._blame = Blame(before, after)
        differ = tuple(filter(self._blame.differs, changes(*map(_minor, self._versions))))
        if not _count_otherwise(before, after):
            differ = tuple(change for change in differ if not change.of_resizes)
        self._differ = differ
        self._rules = tuple(map(rule_row, differ))
        #: If pods fit, and no change concerns them, both releases decide the same.
        self._may_be_alike = not is_reference() and before.state.nominated.keys() == after.state.nominated.keys()
        self._caveats: dict[Caveat, None] = {}
        self._decisions: list[Decision] = []
        self._most = most_pods(after.cluster)
        #: By session and profile, and by a pod's requests: the `_KEPT` most recently used.
        self._found: dict[tuple[int, str], dict[PodResources, NodeResultCache]] = {}
        #: By session: the pending pods' decisions.
        self._judged: dict[int, dict[str, Decision]] = {}

    def report(self) -> Report:
        was, now = (judge(session, _PENDING) for session in self._sessions)
        parts = {
            caveat
            for session, judged in zip(self._sessions, (was, now), strict=True)
            for caveat in session.left_out(session.cluster, judged.others)
        }  # said once of all, in the end
        for caveats in (was.caveats, now.caveats):
            self._caveats |= dict.fromkeys(caveats)
        for caveat in parts:
            self._caveats.pop(caveat, None)
        pending = list(self._pending(was.others, now.others))
        workloads, judged = self._workloads()
        _, after = self._sessions
        self._caveats.update(dict.fromkeys(after.left_out(after.cluster, [*now.others, *self._decisions])))
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

    # --- pending pods --------------------------------------------------------------------------------

    def _pending(self, was: Sequence[Decision], now: Sequence[Decision]) -> Iterator[UpgradedRow]:
        earlier = {decision.pod: decision for decision in was}
        for decision in now:
            before = earlier.get(decision.pod)
            if before is not None:
                rules = self._rules_for(landing_of(decision), partial(self._waiting, decision.pod))
                yield from difference(f"Pod {decision.pod}", before, decision, rules)

    def _waiting(self, pod: str, session: Session) -> Fate:
        """The fate of a pending pod if another session is asked about all of them."""
        judged = self._judged.get(id(session))
        if judged is None:
            judged = {decision.pod: decision for decision in judge(session, _PENDING).others}
            self._judged[id(session)] = judged
        found = judged.get(pod)
        return None if found is None else landing_of(found)

    # --- restarted workloads -------------------------------------------------------------------------

    def _workloads(self) -> tuple[list[UpgradedRow], int]:
        rows: list[UpgradedRow] = []
        judged = 0
        for session in self._sessions:
            session.state.prepare()  # for all forks
        workloads = list(restarted_workloads(self._sessions[1].cluster))
        for done, restarted in enumerate(workloads):
            self._progress(done, len(workloads))
            found = self._restarted(restarted)
            judged += found is not None
            rows.extend(found or ())
        return rows, judged

    def _restarted(self, restarted: Restarted) -> list[UpgradedRow] | None:
        """How the first of its pods of each kind lands differently; None if there is no pod to ask about."""
        alike = self._alike(restarted)
        if alike is not None:
            self._decisions += alike
            return [] if alike else None
        rows: list[UpgradedRow] = []
        asked = False
        tried = zip(*(self._tried(session, restarted) for session in self._sessions), strict=False)
        for place, (was, now) in enumerate(tried):
            asked = True
            self._decisions.append(now.short)
            for each in (was.attempt, now.attempt):
                self._caveats.update(dict.fromkeys(caveats_of(each) if each is not None else ()))
            if rows or was.attempt is None or now.attempt is None or fate_of(was) == fate_of(now):
                continue
            rules = self._rules_for(fate_of(now), partial(self._fate_restarted, restarted, place))
            rows.extend(difference(restarted.name, decision_of(was.attempt), decision_of(now.attempt), rules))
        return rows if asked else None

    def _fate_restarted(self, restarted: Restarted, place: int, session: Session) -> Fate:
        """The fate of the pod at that index in another session."""
        found = next(islice(self._tried(session, restarted), place, None), None)
        return None if found is None else fate_of(found)

    def _rules_for(self, fate: Fate, ask: Ask) -> FindRules:
        """Finds the changes that decide the fate of a pod after the upgrade."""

        def find(plugins: Sequence[str]) -> Iterable[ReleaseChange]:
            near = [change for change in self._differ if is_of(change, plugins)]
            return self._blame.decisive(near, fate, ask) or self._blame.decisive(self._differ, fate, ask)

        return find

    def _alike(self, restarted: Restarted) -> Sequence[Decision] | None:
        """The decisions, if all its pods fit and no change concerns any of them; None: both have to be asked."""
        found: list[Decision] = []
        for candidate, profile, state in self._pods_of(self._sessions[0], restarted) if self._may_be_alike else ():
            pod = candidate.pod
            if candidate.refusal or profile is None or any(change.concerns(pod) for change in self._differ):
                return None
            if not fits_somewhere(profile, PodInfo(pod), state):
                return None
            found.append(decision_about(pod, "Placed"))
        return found if self._may_be_alike else None

    def _pods_of(self, session: Session, restarted: Restarted) -> Iterator[tuple[NewPod, Profile | None, State]]:
        """One pod of each kind that it makes, whose profile that is, and the cluster without its pods."""
        state = session.state.fork()
        planner = Planner(state, "end", limit=self._most)
        new_pods = NewPods(ApiServer.standing(state))
        planner.release(restarted.others)
        update = planner.plan(restarted.applied)
        state.apply(*map(Delete.of, (*update.removed, *restarted.others)))
        obj = restarted.applied.object
        for group in update.added.groups:
            candidate, trial = new_pods.create_alone(group, obj, stored=isinstance(obj, Pod))
            self._caveats |= dict.fromkeys(trial.caveats)
            yield candidate, profile_of(candidate.pod, session.profiles), trial.api_server.state

    def _tried(self, session: Session, restarted: Restarted) -> Iterator[RestartedPod]:
        for candidate, profile, state in self._pods_of(session, restarted):
            pod, refused = candidate.pod, candidate.refusal
            if refused is not None:  # the API server's word, whatever the scheduler's release
                yield RestartedPod(decision_about(pod, "Denied", message=refused.message, refusal=refused.cause))
            elif profile is None:
                yield RestartedPod(decision_about(pod, "Ignored"))
            else:
                info = PodInfo(pod)
                found = attempt(profile, info, state, node_results=self._node_results(session, profile, info))
                result = result_of(found)
                yield RestartedPod(decision_about_result(result), found, result)

    def _node_results(self, session: Session, profile: Profile, pod: PodInfo) -> NodeResultCache:
        """Results for pods of these requests on the whole cluster; nodes that pods have left are evaluated again."""
        known = self._found.setdefault((id(session), profile.scheduler_name), {})
        results = known.pop(pod.resources, None)
        if results is None:
            results = NodeResultCache()
            cycle = Cycle(profile, pod, session.state, results)
            # If the pod fails, the attempt itself reports it.
            with suppress(CycleError):
                if cycle.pre_filter() and not profile.extenders:
                    cycle.filter_nodes()
                    score_nodes(cycle)
        known[pod.resources] = results
        while len(known) > _KEPT:
            del known[next(iter(known))]
        return results


def _count_otherwise(before: Session, after: Session) -> bool:
    """Whether any pod's requests differ between the two releases."""
    pods = after.state.pods
    return any(info.resources != pods[key].resources for key, info in before.state.pods.items() if key in pods)


def _minor(version: str) -> int:
    return int(version.split(".")[1])
