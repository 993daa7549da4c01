"""A live cluster that stays up to date, to be asked again and again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known
from kwhatif.api.options import SchedulerOptions
from kwhatif.api.sessions import FollowedScheduler, admitted, follow_release, release_of, scheduler_source
from kwhatif.garbage import no_garbage_collection
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.questions.again import EVERYTHING, Concern
from kwhatif.questions.session.session import AttemptLog, Session
from kwhatif.report import Report
from kwhatif.sources.dumps.collected import Collected, LoadedCluster, Progress
from kwhatif.sources.live.cache import Cache
from kwhatif.sources.live.follow import Follower
from kwhatif.sources.live.kubeconfig import LiveArguments, LiveOptions
from kwhatif.sources.live.read import Intake
from kwhatif.sources.live.reflector import Patience
from kwhatif.sources.saving.record import Recorder
from kwhatif.sources.saving.save import Moment, save
from kwhatif.state.change import ChangedObject
from kwhatif.state.state import State
from kwhatif.workloads.foreign_groups import with_gangs_of

#: Seconds between checks for an interrupt.
_LOOK = 0.5


class LiveCluster:
    """A cluster that is watched. `wait` until something has changed, then take its `session`, and ask.

    Entering it raises: InputError and ClusterUnreadable, as `kwhatif.load_live` does.
    """

    def __init__(
        self,
        options: LiveOptions,
        scheduler: SchedulerOptions,
        *,
        strict: bool = False,
        progress: Progress | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._source = scheduler_source(scheduler)
        self._strict = strict
        self._progress = progress
        self._options = options
        self._patience = patience
        self._follower: Follower | None = None
        self._latest: Session | None = None
        self._concern: Concern | None = None
        #: Whether all lists have been read since the cluster has its present release.
        self._is_read = False

    def __enter__(self) -> Self:
        self._follower = follower = Follower(self._options, self._patience, wanted=self._source.kinds.lists())
        try:
            follower.ask_version()
            with no_garbage_collection():
                self._begin()
                while not self._cache.is_complete:
                    self._cache.take(follower.take(_LOOK))
                self._judge()
        except BaseException:
            follower.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.follower.close()

    def _begin(self) -> None:
        """Begin to read all lists."""
        follower = self.follower
        self._collected = Collected(sources=[follower.name], namespace=follower.namespace, live=True)
        self._collected.server_version = follower.version
        kinds = self._source.kinds
        self._cache = Cache(self._collected, Intake(follower.server, self._progress, kinds=kinds), kinds)
        follower.start()

    def _judge(self) -> None:
        """All lists are read: build the state, and use the scheduler of the cluster's release.

        Raises:
            ClusterUnreadable: information is missing, and `strict` is set.
        """
        self._cache.note_unfinished()
        self._scheduler: FollowedScheduler = follow_release(self._collected, self._source)
        self._loaded: LoadedCluster = admitted(self._collected, self._progress, strict=self._strict)
        self._collected.cluster.update_facts(taken_at=_now())
        self._latest = self._session_of(self._cache.begin(self._loaded.cluster))
        self._is_read = True

    def _session_of(self, state: State) -> Session:
        """The cluster at a moment; with groups of other schedulers as gangs, if that is wanted."""
        if self._source.treats_as_gangs:
            state = with_gangs_of(state)
        session = self._scheduler.session(self._loaded, state, self._cache.caveats(state), 0)
        return replace(session, attempts=AttemptLog())

    def _is_of_another_release(self) -> bool:
        asked = release_of(self._cache.state.cluster, self._collected, self._source)
        return asked.info() != self._scheduler.info

    def _begin_again(self) -> None:
        """Read the cluster again, as it has another release now, with other defaults and rules."""
        self._latest = self.session  # used until everything is read
        self._is_read, self._concern = False, None
        wanted = self._source.kinds.lists()
        self._follower = Follower(self._options, self._patience, before=self.follower, wanted=wanted)
        self._begin()

    @property
    def follower(self) -> Follower:
        """The follower of the cluster, which knows how complete the state is."""
        assert self._follower is not None, "it was entered"
        return self._follower

    @property
    def behind(self) -> Mapping[str, str]:
        """Resources about which news is missing at present -> why."""
        return self.follower.behind

    @property
    def age(self) -> float:
        """Seconds since the quietest of its watches has received anything."""
        return self.follower.age()

    @property
    def restarts(self) -> int:
        """How often a watch was restarted early, or a list was read again."""
        return self.follower.restarts

    @property
    def name(self) -> str:
        """How reports call the cluster."""
        return self.follower.name

    def wait(self, timeout: float) -> bool:
        """Apply what has happened; waits up to `timeout` seconds for something.

        Returns:
            Whether that can change an answer; if one is known (`answered`), that answer.

        Raises:
            ClusterUnreadable: it cannot go on.
        """
        happened = self.follower.take(timeout)
        if self.follower.version != self._collected.server_version:
            self._begin_again()
            return False
        cache = self._cache
        changes = list(filter(EVERYTHING.differs, cache.take(happened)))
        if self._is_read and any(map(_shows_release, changes)) and self._is_of_another_release():
            self._begin_again()
            return False
        if not self._is_read:
            if cache.is_complete:
                self._judge()
            return self._is_read
        if not (changes or cache.has_news or cache.has_remarks):
            return False
        has_remarks, self._latest = cache.has_remarks, None
        if self._concern is None or has_remarks or cache.custom.concerns(changes, cache.state.cluster):
            return True
        events = cache.scheduling_events() if cache.has_news else None
        return self._concern.is_of((*changes, *cache.finish()), cache.state.cluster, events)

    def answered(self, report: Report) -> None:
        """Remember the answer about the last `session`: only changes that can change it count from now on.

        If pods count as members of gangs that the API server does not know, every change counts.
        """
        all_count = self._latest is None or self._source.treats_as_gangs
        self._concern = None if all_count or self._latest is None else Concern(report, self._latest)

    def settle(self) -> None:
        """Wait until no news is missing.

        Raises:
            ClusterUnreadable: it cannot go on.
        """
        while self.behind:
            self.wait(_LOOK)

    @property
    def session(self) -> Session:
        """The cluster as it is known now: what happens later does not change it."""
        if self._latest is None:
            self._latest = self._session_of(self._cache.moment(_now()))
        if self._latest.attempts is not None:
            self._latest.attempts.begin()
        self._concern = None
        return self._latest

    def record(self, recorder: Recorder, *, is_known: bool) -> int:
        """Append the cluster as it is known now to a recording; returns how many objects are different.

        `is_known`: whether no news was missing (`behind`) at any time since the last call.

        Raises:
            InputError: it cannot be written.
        """
        now, collected = self._as_read()
        return recorder.note(collected, now, is_known=is_known)

    def save(self, file: str, *, images: bool = False, anonymize: bool = False) -> int:
        """Write the cluster as it is known now to a file, whole or not at all; returns how many objects.

        Raises:
            InputError: the file cannot be written.
        """
        now, collected = self._as_read()
        return save(collected, file, taken_at=Moment(now), images=images, anonymize=anonymize).size

    def _as_read(self) -> tuple[str, Collected]:
        while not self._is_read:
            self.wait(_LOOK)
        now = _now()
        return now, self._cache.as_read(now)


def _shows_release(change: ChangedObject) -> bool:
    """Whether this object shows that the release is not the assumed one.

    Groups of pods prove that gates are on, and kubelets are not newer than the API server.
    """
    before, after = change
    if isinstance(before, Node) and isinstance(after, Node):
        return before.status.node_info != after.status.node_info
    if isinstance(before, PodGroup) and isinstance(after, PodGroup):
        return before.spec != after.spec
    return isinstance(after if before is None else before, Node | PodGroup)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def watch(
    *,
    strict: bool = False,
    progress: Progress | None = None,
    live: LiveArguments | None = None,
    **scheduler: Unpack[SchedulerOptions],
) -> LiveCluster:
    """A live cluster that stays up to date; nothing but GET is sent.

    Args:
        strict: fail where information is missing, instead of a caveat in the report.
        progress: is called with how far each list is.
        live: which cluster, and as whom: the arguments of `kwhatif.load_live`.
        scheduler: which scheduler is asked, see `SchedulerOptions`.

    Raises:
        InputError: the kubeconfig is wrong, or what is asked for is not in it.
        ValueError: `request_timeout` is not a duration.
    """
    require_known(scheduler, SchedulerOptions, "watch")
    return LiveCluster(LiveOptions.of(**(live or {})), scheduler, strict=strict, progress=progress)
