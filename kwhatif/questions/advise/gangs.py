"""Advice for a group of pods that the scheduler places as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.plugins import classes_above
from kwhatif.edits.edit import Edit, SourcedEdit
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import GangPolicy, PodGroup, group_of
from kwhatif.questions.advise.blocking import delete_pods
from kwhatif.questions.advise.change import COSTS, AdvisedChange
from kwhatif.questions.advise.proposals import add_nodes
from kwhatif.questions.advise.rows import FoundAdvice, row_of
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.question import Answer, Question
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.edited import edit_session
from kwhatif.questions.session.session import Session
from kwhatif.report.advise import AdviceKind, AdviceRow, AdvisedChangeRow, AdvisedRow, PatchRow
from kwhatif.report.decision import Outcome
from kwhatif.report.pod_groups import GroupRow, PodGroupsRow
from kwhatif.state.change import Upsert

#: The most nodes to add, and the most nodes of which copies are added; the most groups and classes to try.
_MOST_NODES, _MOST_SHAPES, _MOST_TRIED = 64, 3, 4
_OUTCOMES: dict[str, Outcome] = {"unscheduled": "Unschedulable", "waiting": "Gated", "scheduled": "Preempts"}

#: Asks the question again, with a change.
_Change = Callable[[Session, Question], tuple[Session, Question]]


class _Candidate(NamedTuple):
    row: AdvisedChangeRow
    cost: int
    change: _Change
    edits: tuple[Edit, ...] = ()


def failing_groups(answer: Answer) -> list[GroupRow]:
    """The groups that do not fit."""
    groups = () if answer.groups is None else answer.groups.groups
    return [group for group in groups if group.outcome != "scheduled"]


def members_of(answer: Answer) -> set[str]:
    """Keys of the pods that get advice with their group."""
    names = {group.group for group in failing_groups(answer)}
    return set() if answer.groups is None else {pod.pod for pod in answer.groups.pods if pod.group in names}


class GangAdvisor:
    """Finds and proves advice for one group."""

    def __init__(self, session: Session, question: Question, answer: Answer, group: GroupRow) -> None:
        self._session, self._question, self._row = session, replace(question, explain="nothing"), group
        self._cluster = answer.cluster
        self._group = answer.cluster.all(PodGroup)[group.group]
        self._given = next((each for each in question.applied if _is_group(each, group.group)), None)
        self._tried = 0

    def advice(self, most: int) -> list[FoundAdvice]:
        """The advice that helps, the cheapest first."""
        proven = ((each, self._proven(each)) for each in self._candidates())
        found = [FoundAdvice(row, (each.edits,)) for each, row in proven if row is not None]
        return sorted(found, key=lambda each: (each.row.cost, each.row.changes[0].target))[:most]

    def row(self, most: int) -> AdvisedRow:
        """What would help the group."""
        found = self.advice(most)
        group = self._row
        first = next(iter(sorted(self._session.state.members_of(group.group))), group.group)
        return AdvisedRow(
            workload=f"PodGroup {group.group}",
            source=None if self._given is None else self._given.source,
            pod=group.group if group.outcome == "unscheduled" else first,
            outcome=_OUTCOMES[group.outcome],
            fit=group.placed or group.fitting,
            of=group.pods,
            advice=tuple(each.row for each in found),
            tried=self._tried,
        )

    def _proven(self, candidate: _Candidate) -> AdviceRow | None:
        asked = self._ask(candidate.change)
        if asked is None:
            return None
        group, pods = asked
        victims = tuple(group.victims)
        return AdviceRow(
            changes=(candidate.row,),
            cost=candidate.cost + (30 + 10 * len(victims) if victims else 0),
            outcome="Preempts" if victims else "Placed",
            node=next((pod.node for pod in pods.pods if pod.group == group.group and pod.node), None),
            fit=group.placed,
            of=group.pods,
            victims=victims,
        )

    def _ask(self, change: _Change) -> tuple[GroupRow, PodGroupsRow] | None:
        """The result of the group with the change; None if it does not fit."""
        self._tried += 1
        groups = judge(*change(self._session, self._question)).groups
        found = () if groups is None else groups.groups
        group = next((each for each in found if each.group == self._row.group), None)
        return None if groups is None or group is None or group.outcome != "scheduled" else (group, groups)

    # --- what may help -------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[_Candidate]:
        group, gang = self._group, self._group.spec.scheduling_policy.gang
        if gang is not None and gang.min_count > 1:
            yield from self._smaller(gang.min_count)
        if group.topology_key:
            spec = replace(group.spec, scheduling_constraints=None)
            patch = PatchRow("remove", "/spec/schedulingConstraints")
            yield self._of_group("drop-topology", replace(group, spec=spec), patch, group.topology_key)
        if self._row.outcome == "waiting":
            return
        yield from self._other_groups()
        yield from self._higher_classes()
        yield from self._more_nodes()

    def _smaller(self, least: int) -> Iterator[_Candidate]:
        """A lower minimum: as many as find a node when all members are tried."""
        path, none = "/spec/schedulingPolicy/gang/minCount", ""
        asked = self._ask(self._of_group("min-count", self._with_least(1), PatchRow("replace", path, 1), none).change)
        if asked is not None and 0 < asked[0].placed < least:
            count = asked[0].placed
            patch = PatchRow("replace", path, count)
            row = self._of_group("min-count", self._with_least(count), patch, none)
            yield row._replace(row=replace(row.row, before=f"{least}", after=f"{count}"))

    def _with_least(self, count: int) -> PodGroup:
        spec = self._group.spec
        policy = replace(spec.scheduling_policy, gang=GangPolicy(min_count=count))
        return replace(self._group, spec=replace(spec, scheduling_policy=policy))

    def _of_group(self, kind: AdviceKind, group: PodGroup, patch: PatchRow, about: str) -> _Candidate:
        """A change of the group's own object, in the manifests or in the cluster."""
        given = self._given
        row = AdvisedChangeRow(
            kind=kind,
            by="manifest",
            target=self._row.group,
            object=f"PodGroup {self._row.group}",
            in_cluster=given is None,
            about=about,
            patch=(patch,),
        )

        def change(session: Session, question: Question) -> tuple[Session, Question]:
            if given is None:
                state = session.state.fork()
                state.apply(Upsert(group))
                return session.at(state), question
            applied = [replace(each, object=group) if each is given else each for each in question.applied]
            return session, replace(question, applied=applied)

        return _Candidate(row, COSTS[row.kind], change)

    def _other_groups(self) -> Iterator[_Candidate]:
        """Delete another group that runs and is not more important, the smallest first."""
        state, own = self._session.state, self._group
        others: list[tuple[int, str]] = []
        for key, each in self._session.cluster.all(PodGroup).items():
            bound = [info for info in state.members_of(key).values() if info.pod.spec.node_name]
            if key != self._row.group and bound and each.priority <= own.priority:
                others.append((len(bound), key))
        for _, key in sorted(others)[:_MOST_TRIED]:
            pods = [info.pod for info in state.members_of(key).values() if info.pod.spec.node_name]
            yield self._in_cluster(delete_pods(pods, next(iter(state.members_of(key).values()))))

    def _higher_classes(self) -> Iterator[_Candidate]:
        """Priority classes with which the group may evict others; its pods need the same class."""
        given = self._given
        members = [each for each in self._question.applied if _is_member(each, self._row.group)]
        if given is None or not members:
            return
        for each in classes_above(self._group.priority, self._session.cluster)[:_MOST_TRIED]:
            name = each.metadata.name
            row = AdvisedChangeRow(
                kind="priority-class",
                by="manifest",
                object=f"PodGroup {self._row.group}",
                before=self._group.spec.priority_class_name,
                after=name,
                patch=(PatchRow("add", "/spec/priorityClassName", name),),
            )

            def change(session: Session, question: Question, name: str = name) -> tuple[Session, Question]:
                applied = [
                    _with_class(each, name) if each is given or each in members else each for each in question.applied
                ]
                return session, replace(question, applied=applied)

            yield _Candidate(row, COSTS["priority-class"], change)

    def _more_nodes(self) -> Iterator[_Candidate]:
        """The fewest copies of a node that are enough: this was tried, and so was one fewer."""
        for like in self._nodes_to_add()[:_MOST_SHAPES]:
            low, high = 0, min(max(self._row.pods, 1), _MOST_NODES)
            if self._ask(_edited(add_nodes(like, high))) is None:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                if self._ask(_edited(add_nodes(like, middle))) is None:
                    low = middle
                else:
                    high = middle
            yield self._in_cluster(add_nodes(like, high))

    def _nodes_to_add(self) -> list[str]:
        """A node of each shape: first the one that comes nearest, then the largest."""
        near = {shortage.node for shortage in self._row.shortages}
        nodes = sorted(
            self._session.state.nodes, key=lambda node: (node.name not in near, -node.allocatable[0], node.name)
        )
        shapes = {(node.allocatable, node.labels.get(self._row.topology_key)): node.name for node in reversed(nodes)}
        return sorted(shapes.values(), key=[node.name for node in nodes].index)

    def _in_cluster(self, change: AdvisedChange) -> _Candidate:
        return _Candidate(row_of(change), change.cost, _edited(change), change.edits)


def _edited(change: AdvisedChange) -> _Change:
    def made(session: Session, question: Question) -> tuple[Session, Question]:
        return edit_session(session, [SourcedEdit("advice", edit) for edit in change.edits]), question

    return made


def _is_group(applied: Applied, key: str) -> bool:
    return isinstance(applied.object, PodGroup) and key_of(applied.object) == key


def _is_member(applied: Applied, key: str) -> bool:
    return isinstance(applied.object, Pod) and group_of(applied.object) == key


def _with_class(applied: Applied, name: str) -> Applied:
    obj = applied.object
    assert isinstance(obj, Pod | PodGroup), "it is the group, or a member"
    spec = replace(obj.spec, priority_class_name=name, priority=None)
    return replace(applied, object=replace(obj, spec=spec))
