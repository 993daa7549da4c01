"""Each pod as if it were the only one: always on the same state, and first in the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import OneOfEqualPods, TooManyPods
from kwhatif.questions.decisions.caveats import caveats_of
from kwhatif.questions.decisions.decide import decide, denied, ignored, refusal
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.candidates import PlannedPod, Planner
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class Alone:
    """Judges each pod alone; adds to `caveats`."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        state: State,
        caveats: dict[Caveat, None],
        described: int | None = None,
    ) -> None:
        """`described`: how many candidates for eviction a decision describes, best first; None: all."""
        self._profiles = profiles
        self._state = state
        self._caveats = caveats
        self._described = described

    def judge(self, applied: Applied, planner: Planner) -> Iterator[Decision]:
        """The decisions about the object's pods; of equal ones the first is judged.

        Raises:
            TemplatePathError: a custom resource has no pod template where it should have one.
        """
        update = planner.expand(applied)
        if update.denied is not None:
            yield refusal(applied, update.denied.message, self._state.cluster)
            return
        workload, left_out = applied.source.object, update.left_out
        for group in update.added.groups:
            yield replace(self.decide(planner.admit_one(applied, group)), source=applied.source)
            if len(group.names) > 1:
                count = len(group.names) + (left_out if len(update.added.groups) == 1 else 0)
                self._caveats[OneOfEqualPods(workload=workload, count=count)] = None
        if left_out:
            judged = len(update.added.pods)
            self._caveats[TooManyPods(workload=workload, count=judged + left_out, judged=judged)] = None

    def decide(self, candidate: PlannedPod) -> Decision:
        """The decision about a pod as if it were the next in the queue."""
        if candidate.refusal:
            return denied(candidate, self._state.cluster)
        pod = PodInfo(candidate.pod)
        profile = self._profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        if profile is None:
            return ignored(pod.pod)
        decision, result = decide(profile, pod, self._state, described=self._described)
        self._caveats.update(dict.fromkeys(caveats_of(result)))
        return replace(decision, changes=candidate.changes)
