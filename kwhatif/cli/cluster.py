"""The cluster and the scheduler from the options, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from kwhatif.api.options import Option, OptionError, SchedulerOptions
from kwhatif.cli.answers import WATCHER, Answers
from kwhatif.cli.cluster_options import complete_edit
from kwhatif.cli.options import read_once
from kwhatif.cli.progress import Stages, reading_progress
from kwhatif.cli.run import now
from kwhatif.cli.usage import CLUSTER, EDITS, OTHER, check_not_swapped
from kwhatif.garbage import keep, no_garbage_collection

if TYPE_CHECKING:
    from kwhatif.api.live import LiveCluster
    from kwhatif.cli.cluster_options import Growth
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report
    from kwhatif.sources.dumps.collected import Progress
    from kwhatif.sources.live.kubeconfig import LiveArguments


@dataclass(frozen=True)
class ClusterSource:
    """The cluster that the options name."""

    from_: Annotated[
        list[str] | None,
        Option(
            "Read the cluster from this dump: a file, a directory, an archive, or - for standard input. Repeatable."
            " Without it, the live cluster is read.",
            metavar="PATH",
            group=CLUSTER,
        ),
    ] = None
    at: Annotated[
        str | None,
        Option(
            "The moment of a recording (--from): 2026-01-31T14:05Z, or 90m for 90 minutes ago. Default: its last one.",
            metavar="TIME",
            group=CLUSTER,
        ),
    ] = None
    kubeconfig: Annotated[str | None, Option("The kubeconfig file to use.", metavar="FILE", group=CLUSTER)] = None
    context: Annotated[str | None, Option("The context of the kubeconfig to use.", metavar="NAME", group=CLUSTER)] = (
        None
    )
    as_user: Annotated[
        str | None, Option("Read the cluster as this user.", metavar="USER", group=CLUSTER, name="as")
    ] = None
    as_group: Annotated[
        list[str] | None,
        Option("Read it as a member of this group; needs --as. Repeatable.", metavar="GROUP", group=CLUSTER),
    ] = None
    request_timeout: Annotated[
        str,
        Option(
            "How long one request may take, such as 30s. 0: no limit.",
            metavar="TIME",
            group=CLUSTER,
            check="kwhatif.kube.model.quantity:parse_timeout",
        ),
    ] = "1m"
    strict: Annotated[
        bool, Option("Fail if information about the cluster is missing, instead of a caveat.", group=CLUSTER)
    ] = False
    verbose: Annotated[
        bool,
        Option("Print on standard error how long each step took, and how much memory.", group=OTHER, short="-v"),
    ] = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            OptionError: in words for the user.
        """
        named = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.as_user}
        given = [name for name, value in named.items() if value is not None]
        if self.from_ and given:
            raise OptionError(given[0], "it is about the live cluster, but --from names a dump: leave one of them out")
        if self.as_group and self.as_user is None:
            raise OptionError("--as-group", "it needs a user: give --as as well")

    def moment(self, paths: Sequence[str], *, dates: bool = False) -> datetime | None:
        """The moment in a recording, if the dumps are one; None: the last moment.

        `dates`: whether the command also uses `--at` without a recording.

        Raises:
            OptionError: it is not a time, or there is no dump.
        """
        if self.at is None or (dates and not _has_recording(paths)):
            return None
        if not paths:
            raise OptionError("--at", "it is about a recording: name it with --from")
        return _moment(self.at)

    @cached_property
    def stages(self) -> Stages:
        """The stages that `-v` prints."""
        return Stages(verbose=self.verbose)

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """A function that shows the progress of reading."""
        if self.stages.verbose:
            yield self.stages.advance
            return
        with reading_progress() as advance:
            yield advance

    def live(self) -> LiveArguments:
        """The library's arguments about a live cluster."""
        return {
            "kubeconfig": self.kubeconfig,
            "context": self.context,
            "as_user": self.as_user,
            "as_groups": self.as_group or (),
            "request_timeout": self.request_timeout,
        }


@dataclass(frozen=True)
class SchedulerSource:
    """A cluster and its scheduler."""

    where: ClusterSource
    scheduler: SchedulerOptions = field(default_factory=SchedulerOptions)
    if_: Annotated[
        list[str] | None,
        Option(
            "Assume this change: cordon NODE, scale deploy/shop/web=5, add 3 nodes like NODE. Repeatable, in order.",
            metavar="EDIT",
            group=EDITS,
            complete=complete_edit,
        ),
    ] = None
    edits: Annotated[
        list[str] | None,
        Option("The same from a YAML list; made before those of --if. Repeatable.", metavar="FILE", group=EDITS),
    ] = None
    requests: Annotated[
        list[str] | None,
        Option(
            "Pods request what they need by the cluster's VerticalPodAutoscalers (vpa), its PodMetrics (metrics), or a"
            " file: kubectl top pods --containers, CSV, PodMetrics; of Prometheus cpu=FILE, memory=FILE. Repeatable.",
            metavar="FROM",
            group=EDITS,
        ),
    ] = None
    compare: Annotated[bool, Option("Show the answers without and with the edits side by side.", group=EDITS)] = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            OptionError: in words for the user.
        """
        if self.scheduler.get("call_extenders") and self.scheduler.get("scheduler_config") is None:
            raise OptionError(
                "--call-extenders", "it needs the configuration that names the extenders: give --scheduler-config"
            )
        if self.compare and not self._has_edits:
            raise OptionError("--compare", "it needs edits: give --if, --edits or --requests")

    @property
    def _has_edits(self) -> bool:
        return bool(self.if_ or self.edits or self.requests)

    @property
    def strict(self) -> bool:
        """Whether missing information is an error."""
        return self.where.strict

    def load(
        self,
        *,
        manifests: Sequence[str] = (),
        lenient: bool = False,
        namespace: str | None = None,
        dates: bool = False,
    ) -> Session:
        """Read the cluster, and apply the edits; `lenient` for commands that handle missing information themselves.

        `namespace` is for objects that edits name without one; `dates`: see `ClusterSource.moment`.

        Raises:
            UsageError: the cluster and a manifest are swapped.
            InputError: an edit is wrong.
        """
        watcher = WATCHER.get()
        if watcher is not None:
            _refuse_standard_input((*manifests, *(self.edits or ()), *(self.requests or ())))
            session = watcher.session(self.watch)
        else:
            with no_garbage_collection():
                session = self._read(strict=self.strict and not lenient, dates=dates)
                if self.where.from_:
                    check_not_swapped(self.where.from_, manifests, session)
                keep(session)
        return self.edited(session, namespace)

    def edited(self, session: Session, namespace: str | None = None) -> Session:
        """The cluster after the edits, if any; `namespace` is for objects that they name without one.

        Raises:
            InputError: an edit is wrong.
        """
        if not self._has_edits:
            return session
        from kwhatif.api.sessions import edited_by

        files, requests = self.edits or (), self.requests or ()
        return edited_by(session, self.if_ or (), files=files, namespace=namespace, option="--if", requests=requests)

    def ask(
        self,
        question: Callable[[Session, Sequence[str]], Report],
        manifests: Sequence[str] = (),
        *,
        lenient: bool = False,
        namespace: str | None = None,
        dates: bool = False,
        growth: Growth | None = None,
    ) -> Answers:
        """Read the cluster, and ask about these manifests; with `--compare` also without the edits.

        `growth`: the autoscaler that adds nodes; `dates`: see `ClusterSource.moment`.
        """
        dates |= growth is not None and growth.is_asked
        session = self.load(manifests=manifests, lenient=lenient, namespace=namespace, dates=dates)
        session = session if growth is None else growth.of(session)
        if not self.compare or session.unedited is None:
            return Answers(question(session, manifests), session=session)
        again = [read_once(path) for path in manifests]
        before = question(session.unedited, again)
        return Answers(question(session, again), before, session)

    def watch(self) -> LiveCluster:
        """The live cluster, for repeated questions; entering it reads the cluster.

        Raises:
            OptionError: the options name a cluster that cannot be watched.
        """
        from kwhatif.api.live import watch

        refused = {
            "--from": self.where.from_,
            "--at": self.where.at,
            "--call-extenders": self.scheduler.get("call_extenders"),
            "--compare": self.compare,
        }
        for option, value in refused.items():
            if value:
                raise OptionError(option, "a live cluster is watched: leave it out")
        return watch(strict=self.strict, live=self.where.live(), **self.scheduler)

    def _read(self, *, strict: bool, dates: bool) -> Session:
        import kwhatif

        at = self.where.moment(self.where.from_ or (), dates=dates)
        with self.where.progress() as advance:
            if self.where.from_:
                moment = at or now()
                return kwhatif.load(
                    *self.where.from_, strict=strict, progress=advance, now=moment, at=at, **self.scheduler
                )
            return kwhatif.load_live(**self.where.live(), strict=strict, progress=advance, **self.scheduler)


def _has_recording(paths: Sequence[str]) -> bool:
    from kwhatif.sources.dumps.recording import is_recording

    return any(map(is_recording, paths))


def _moment(text: str) -> datetime:
    from kwhatif.kube.model.quantity import parse_timeout

    try:
        return now() - timedelta(seconds=parse_timeout(text) or 0.0)
    except (ValueError, OverflowError, OSError):
        pass
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found.astimezone(UTC)
        reason = "it has no time zone"
    except (ValueError, OverflowError):
        reason = f"{text!r} is not a time"
    raise OptionError("--at", f"{reason}: 2026-01-31T14:05Z is one, and 90m is 90 minutes ago")


def _refuse_standard_input(paths: Sequence[str]) -> None:
    if "-" in paths:
        raise OptionError("-", "it can be read only once, and is asked about again and again: name a file")
