"""Each pod as if it were the only one: every time the same snapshot, and nobody before it in the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.workloads import OneOfEqualPods, TooManyPods
from kwhatif.report.decision import Decision
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.caveats import caveats_of
from kwhatif.whatif.decide import decide, denied, ignored, refusal


def judge_alone(
    applied: Applied,
    planner: Planner,
    profiles: Mapping[str, Profile],
    snapshot: State,
    caveats: dict[Caveat, None],
    *,
    described: int | None,
) -> Iterator[Decision]:
    """The decisions about the object's pods; of equal ones the first is judged, and `caveats` say so.

    Raises:
        TemplatePathError: a custom resource has no pod template where it should have one.
    """
    update = planner.expand(applied)
    if update.denied is not None:
        yield refusal(applied, update.denied.message, snapshot.cluster)
        return
    for group in update.added.groups:
        candidate = planner.admit_one(applied, group)
        decision = decide_alone(candidate, profiles, snapshot, caveats, described=described)
        yield replace(decision, source=applied.source)
        if len(group.names) > 1:
            count = len(group.names) + (update.added.left_out if len(update.added.groups) == 1 else 0)
            caveats[OneOfEqualPods(workload=applied.source.object, count=count)] = None
    if update.added.left_out:
        judged = len(update.added.pods)
        caveats[TooManyPods(workload=applied.source.object, count=judged + update.added.left_out, judged=judged)] = None


def decide_alone(
    candidate: Candidate,
    profiles: Mapping[str, Profile],
    snapshot: State,
    caveats: dict[Caveat, None],
    *,
    described: int | None,
) -> Decision:
    """The decision about a pod as if it were the next in the queue; what it leaves out is added to `caveats`."""
    if candidate.refusal:
        return denied(candidate, snapshot.cluster)
    pod = PodInfo(candidate.pod)
    name = pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER
    profile = profiles.get(name)
    if profile is None:
        return ignored(pod.pod)
    decision, result = decide(profile, pod, snapshot, described=described)
    caveats.update(dict.fromkeys(caveats_of(result)))
    return replace(decision, changes=candidate.changes)
