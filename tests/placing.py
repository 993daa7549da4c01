"""Pods placed one after the other by the engine without time, each on its node before the next one's turn."""

from collections.abc import Iterable, Mapping

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.described import AtOnce
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Delete
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class Placing:
    """An engine on a state, which moves on with every pod."""

    def __init__(self, profiles: Mapping[str, Profile], state: State) -> None:
        self.state = state
        self._engine = InstantEngine(state, profiles)
        self._tried = AtOnce(self._engine.api_server, profiles)

    @property
    def caveats(self) -> Mapping[Caveat, None]:
        return self._tried.caveats

    def withdraw(self, key: str) -> None:
        if key in self.state.pods:
            self.state.apply(Delete(Pod, key))

    def place(self, pod: PodInfo) -> ScheduleResult:
        """Place the pod; it replaces a pod of its name."""
        self.withdraw(pod.key)
        result = self._engine.attempt(pod)
        self._tried.note(result)
        self._engine.carry_out(pod, result)
        return result.settled

    def place_all(self, pods: Iterable[PodInfo]) -> list[ScheduleResult]:
        """In the order of the queue."""
        return [self.place(pod) for pod in sorted(pods, key=lambda pod: -pod.priority)]
