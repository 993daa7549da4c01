"""The smallest change that removes a finding: each candidate is applied, settles, and the what-ifs are played again.

Candidates come from `drain` (its remedies), from `advise` about the pod that stays pending at the end of the what-if,
and from a few rules about what those two ignore: strategies, budgets, priorities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import QuotaExceeded
from kwhatif.admission.plugins import classes_above
from kwhatif.controllers.disruption import pods_selected_by
from kwhatif.edits.edit import Assignment, Edit, Reference, Uncordon
from kwhatif.edits.made import add_nodes, budget, named, object_of, restart, set_as_patched, set_fields, untaint
from kwhatif.errors import InputError, OutOfTime
from kwhatif.kube.model.cluster import Cluster, ObjectRef
from kwhatif.kube.model.kinds import find
from kwhatif.kube.model.node import HOSTNAME, ZONE, Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.quantity import amounts
from kwhatif.kube.model.workload import Deployment, StatefulSet
from kwhatif.questions.advise.advisor import Limits, advice_for
from kwhatif.questions.advise.missing import quantities, raise_quota
from kwhatif.questions.advise.rows import FoundAdvice
from kwhatif.questions.audit.findings import Key, key_of_cause
from kwhatif.questions.audit.probes import AuditPlayer
from kwhatif.questions.audit.scenario import AuditScenario
from kwhatif.questions.audit.standing import NOW
from kwhatif.questions.judging.question import Question
from kwhatif.questions.maintenance.drain import DrainSimulation, remedy_of
from kwhatif.questions.maintenance.remedies import DrainFlag
from kwhatif.questions.manifests.applied import Applied
from kwhatif.report.advise import AdviceKind, AdvisedChangeRow
from kwhatif.report.inputs import SourceRow
from kwhatif.report.risks import AuditFindingRow, AuditFixRow, HarmRow
from kwhatif.scheduler.framework.evidence import taint_text

#: The most candidates for a finding, and the most of its what-ifs that are played again with each of them.
_MOST_TRIED, _MOST_AGAIN = 6, 12
#: The longest time of a finding's what-ifs together, in seconds of processor time: slower ones are not played again for
#: each candidate. `--explain` has no such limit.
MOST_SECONDS = 5.0
#: Advice that is not a lasting change of the cluster, or takes from others.
_PASSING: frozenset[AdviceKind] = frozenset(
    {
        "delete-pod",
        "move-pod",
        "wait",
        "job-done",
        "node-ready",
        "claim-bound",
        "drop-gates",
        "scale-down",
        "untaint",
        "label-node",
    }
)
#: Harm by growth: more nodes are needed, whatever the pods are.
_ROOM = ("room", "ports", "anti-affinity", "spread", "devices")

#: Something to try: edits, or a flag of the command.
Candidate = tuple[Edit, ...] | DrainFlag


class Fixes:
    """Finds a fix for one finding at a time."""

    def __init__(
        self,
        player: AuditPlayer,
        scenarios: Sequence[AuditScenario],
        goes_on: Callable[[], bool],
        took: Mapping[str, float],
        most: float = MOST_SECONDS,
    ) -> None:
        """Set up.

        Args:
            player: plays the what-ifs without a fix.
            scenarios: all what-ifs.
            goes_on: whether there is still time.
            took: the processor time of scenarios, in seconds, by name.
            most: the longest time of what-ifs together that are played again with a candidate.
        """
        self._player = player
        self._scenarios = {(each.probe, each.about): each for each in scenarios}
        self._took, self._most = took, most
        self._goes_on = goes_on

    def fixed(self, finding: AuditFindingRow) -> AuditFindingRow:
        """The finding with the first candidate that helps."""
        if not self._goes_on():
            return finding
        takes = self._time_of(self._scenarios.get((finding.worst.probe, finding.worst.scenario)))
        if takes > self._most:
            return replace(finding, takes=round(takes, 1))
        tried = 0
        try:
            for candidate in islice(self._candidates(finding), _MOST_TRIED):
                if isinstance(candidate, DrainFlag):
                    return replace(finding, fix=AuditFixRow(edits=(candidate.text,), kind="flag"), tried=tried + 1)
                helps = self._helps(candidate, finding)
                tried += 1
                if helps:
                    return replace(finding, fix=self._row(candidate, finding), tried=tried)
        except OutOfTime:
            return replace(finding, tried=tried or None)
        return replace(finding, tried=tried)

    def _row(self, edits: tuple[Edit, ...], finding: AuditFindingRow) -> AuditFixRow:
        """The edits, and the number of the finding's what-ifs on which it was proven."""
        now = any(each.probe == NOW.probe for each in finding.shown_by)
        return AuditFixRow(
            edits=tuple(edit.text for edit in edits),
            played=len(list(self._again(finding))) + now,
            of=sum(each.count for each in finding.shown_by),
        )

    # --- proof ---------------------------------------------------------------------------------------

    def _helps(self, edits: tuple[Edit, ...], finding: AuditFindingRow) -> bool:
        """Whether the finding is gone once the edits are made, without an equally bad one instead."""
        mended = AuditPlayer(self._player.session, self._player.parameters, edits)
        mended.is_awaited = self._goes_on
        try:
            now = mended.play(NOW).harms
        except InputError:
            return False
        key = key_of_cause(finding.worst)
        if any(key_of_cause(row) not in self._before or key_of_cause(row) == key for row in now):
            return False
        for scenario in self._again(finding):
            try:
                harms = mended.play(scenario).harms
            except InputError:
                return False
            if any(key_of_cause(row) == key for row in harms) or _is_as_bad(harms, finding):
                return False
        return True

    def _again(self, finding: AuditFindingRow) -> Iterator[AuditScenario]:
        """The what-ifs that show it, the worst first; if there are many, some of each kind, as far as there is time."""
        worst = self._scenarios.get((finding.worst.probe, finding.worst.scenario))
        shown = [[self._scenarios.get((each.probe, name)) for name in each.names] for each in finding.shown_by]
        mixed = [scenario for row in zip_longest(*shown) for scenario in row]
        found = dict.fromkeys(each for each in (worst, *mixed) if each is not None and each != NOW)
        left = self._most
        for scenario in list(found)[:_MOST_AGAIN]:
            takes = self._time_of(scenario)
            if takes <= left:
                left -= takes
                yield scenario

    def _time_of(self, scenario: AuditScenario | None) -> float:
        return 0.0 if scenario is None else self._took.get(scenario.name, 0.0)

    @cached_property
    def _before(self) -> frozenset[Key]:
        """The causes why pods are already pending."""
        return frozenset(map(key_of_cause, self._player.play(NOW).harms))

    # --- candidates ----------------------------------------------------------------------------------

    def _candidates(self, finding: AuditFindingRow) -> Iterator[Candidate]:
        worst = finding.worst
        scenario = self._scenarios.get((worst.probe, worst.scenario))
        if worst.harm == "restart-hangs":
            yield from self._slower_rollout(worst)
        if worst.harm == "drain-blocked" and scenario is not None:
            yield from self._remedies(scenario, worst)
        yield from self._by_rule(worst)
        if worst.harm != "drain-blocked" and scenario is not None and worst.example:
            yield from self._advised(scenario, worst)
        if worst.cause in _ROOM:
            yield from self._more_nodes(scenario, worst)

    def _remedies(self, scenario: AuditScenario, worst: HarmRow) -> Iterator[Candidate]:
        played = self._player.played(scenario)
        if isinstance(played, DrainSimulation):
            row = next((row for row in played.blocked if row.pod == worst.example), None)
            remedy = None if row is None else remedy_of(row, played)
            if remedy is not None:
                yield remedy if isinstance(remedy, DrainFlag) else (remedy,)

    def _slower_rollout(self, worst: HarmRow) -> Iterator[Candidate]:
        """One pod is deleted before the next one is created."""
        workload = self._workload(worst.subject)
        if not isinstance(workload, Deployment):
            return
        target, strategy = named(worst.subject), ("spec", "strategy")
        rolling = (*strategy, "rollingUpdate")
        bounds = Assignment((*rolling, "maxSurge"), 0), Assignment((*rolling, "maxUnavailable"), 1)
        yield (set_fields(target, *bounds),)
        if workload.spec.strategy.type != "Recreate":
            yield (set_fields(target, Assignment(strategy, {"type": "Recreate"})),)

    def _by_rule(self, worst: HarmRow) -> Iterator[Candidate]:
        kind, key = ObjectRef.parse(worst.subject)
        match worst.cause:
            case "allows-all" | "many-budgets" if kind == "PodDisruptionBudget":
                yield (budget(key, max_unavailable=1),)
            case "selects-nothing":
                yield from self._selecting(key, worst)
            case "one-node" | "one-zone":
                yield from self._apart(worst)
            case "quota":
                yield from self._more_quota(worst)
            case "priority":
                yield from self._higher_class(worst.subject)
            case "taint":
                yield from self._untainted(worst)

    def _apart(self, worst: HarmRow) -> Iterator[Candidate]:
        """Its pods on other nodes, or in other zones: after a restart, or by a constraint."""
        subject = worst.subject
        kind, key = ObjectRef.parse(subject)
        if kind == "PodDisruptionBudget":
            pods = pods_selected_by(key, self._cluster)
            subject = self._player.base.engine.tally.root(pods[0]) if pods else ""
        workload = self._workload(subject)
        if not isinstance(workload, Deployment | StatefulSet):
            return
        if worst.probe != "zone":
            yield (restart(named(subject)),)
        for topology in (ZONE,) if worst.probe == "zone" else (ZONE, HOSTNAME):
            yield from self._spread(named(subject), workload, topology)

    def _selecting(self, key: str, worst: HarmRow) -> Iterator[Candidate]:
        for owner in worst.about:
            selector = getattr(getattr(self._workload(owner), "spec", None), "selector", None)
            labels = getattr(selector, "match_labels", None)
            if labels:
                target = object_of(PodDisruptionBudget, key)
                yield (set_fields(target, Assignment(("spec", "selector"), {"matchLabels": dict(labels)})),)

    def _spread(self, target: Reference, workload: Deployment | StatefulSet, topology: str) -> Iterator[Candidate]:
        if workload.spec.selector is None or workload.spec.template is None:
            return
        constraint = {
            "maxSkew": 1,
            "topologyKey": topology,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": msgspec.to_builtins(workload.spec.selector),
        }
        there = [
            msgspec.to_builtins(each)
            for each in workload.spec.template.spec.topology_spread_constraints
            if each.topology_key != topology
        ]
        field = ("spec", "template", "spec", "topologySpreadConstraints")
        yield (set_fields(target, Assignment(field, [*there, constraint])),)

    def _more_quota(self, worst: HarmRow) -> Iterator[Candidate]:
        """A quota that is larger by the requests of the refused pods."""
        exceeded = worst.refusal
        if not isinstance(exceeded, QuotaExceeded):
            return
        requested, used = amounts(exceeded.requested), amounts(exceeded.used)
        key = f"{ObjectRef.parse(worst.subject).namespace}/{exceeded.quota}"
        for pods in dict.fromkeys((worst.pods, worst.pods + 1, max(2 * worst.pods, worst.of))):
            hard = {name: used[name] + pods * amount for name, amount in requested.items()}
            yield (raise_quota(key, quantities(hard)),)

    def _higher_class(self, subject: str) -> Iterator[Candidate]:
        field = ("spec", "template", "spec", "priorityClassName")
        for each in classes_above(self._player.priorities.get(subject, 0), self._cluster, evicting=False):
            yield (set_fields(named(subject), Assignment(field, each.metadata.name)),)

    def _untainted(self, worst: HarmRow) -> Iterator[Candidate]:
        pod = self._cluster.get(Pod, worst.example)
        node = "" if pod is None else pod.spec.node_name
        known = self._cluster.get(Node, node)
        for taint in () if known is None else known.spec.taints:
            if (taint_text(taint),) == worst.about:
                yield (untaint(node, taint.key, taint.effect),)

    def _more_nodes(self, scenario: AuditScenario | None, worst: HarmRow) -> Iterator[Candidate]:
        """Copies of the lost node, or of the node of another pod of the workload."""
        like = scenario.nodes[0] if scenario is not None and scenario.nodes else self._node_of(worst.subject)
        if like:
            for count in (1, 2, 3):
                yield (add_nodes(like, count),)

    def _node_of(self, workload: str) -> str:
        standing = self._player.base.engine.tally.workloads.get(workload)
        return min(standing.nodes, default="") if standing is not None else ""

    # --- advice --------------------------------------------------------------------------------------

    def _advised(self, scenario: AuditScenario, worst: HarmRow) -> Iterator[Candidate]:
        """What `advise` says about the pod that stays pending at the end of the what-if."""
        played = self._player.played(scenario)
        pod = played.engine.api_server.state.cluster.get(Pod, worst.example)
        if pod is None or pod.spec.node_name:
            return
        session = self._player.session.at(played.engine.api_server.state.fork())
        source = SourceRow(file=f"pod/{worst.example}", object=f"Pod {worst.example}")
        applied = Applied(pod, source, restarted=True)
        question = Question(applied=(applied,), counts_pending=True)
        for each in advice_for(session, question, Limits(6, 1, evicting=False)):
            edits = self._edits(each, worst, scenario)
            if edits:
                yield edits

    def _edits(self, advice: FoundAdvice, worst: HarmRow, scenario: AuditScenario) -> tuple[Edit, ...]:
        """The changes as edits; none if one of them is not a lasting change."""
        found: list[Edit] = []
        for change, edits in zip(advice.row.changes, advice.edits, strict=True):
            if change.kind in _PASSING:
                return ()
            if change.patch and change.object is not None:
                edit = self._patched(change, worst)
                if edit is None:
                    return ()
                found.append(edit)
            elif edits and not any(isinstance(each, Uncordon) and {*each.nodes} & {*scenario.nodes} for each in edits):
                found += edits
            else:
                return ()
        return tuple(found)

    def _patched(self, change: AdvisedChangeRow, worst: HarmRow) -> Edit | None:
        """The patch as a `set` of the workload; None for a pod, whose fields cannot be changed."""
        subject = change.object or ""
        if subject.startswith("ReplicaSet ") and worst.subject.startswith("Deployment "):
            subject = worst.subject
        known = self._workload(subject)
        return None if known is None or isinstance(known, Pod) else set_as_patched(named(subject), known, change.patch)

    def _workload(self, subject: str) -> Any:
        """The object of that kind and name, if there is one that kwhatif knows."""
        return find(ObjectRef.parse(subject), self._cluster)

    @property
    def _cluster(self) -> Cluster:
        return self._player.session.cluster


def _is_as_bad(harms: Sequence[HarmRow], finding: AuditFindingRow) -> bool:
    """Whether another cause now has the same effect on the same workload."""
    return any(row.harm == finding.worst.harm and row.subject == finding.worst.subject for row in harms)
