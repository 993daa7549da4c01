"""The cluster and the scheduler from the options, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import typer

from kwhatif.api.options import SchedulerOptions
from kwhatif.cli.answers import WATCHER, Answers
from kwhatif.cli.cluster_options import (
    As,
    AsGroup,
    At,
    Compare,
    Context,
    Edits,
    From,
    If,
    Kubeconfig,
    Requests,
    RequestTimeout,
    Strict,
    Verbose,
)
from kwhatif.cli.options import read_once
from kwhatif.cli.progress import Stages, reading_progress
from kwhatif.cli.run import now
from kwhatif.cli.usage import check_not_swapped
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

    from_: From = None
    at: At = None
    kubeconfig: Kubeconfig = None
    context: Context = None
    as_user: As = None
    as_group: AsGroup = None
    request_timeout: RequestTimeout = "1m"
    strict: Strict = False
    verbose: Verbose = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            BadParameter: in words for the user.
        """
        from kwhatif.sources.network import parse_timeout

        named = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.as_user}
        given = [name for name, value in named.items() if value is not None]
        if self.from_ and given:
            raise typer.BadParameter(
                "it is about the live cluster, but --from names a dump: leave one of them out", param_hint=given[0]
            )
        if self.as_group and self.as_user is None:
            raise typer.BadParameter("it needs a user: give --as as well", param_hint="--as-group")
        try:
            parse_timeout(self.request_timeout)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), param_hint="--request-timeout") from wrong

    def moment(self, paths: Sequence[str], *, dates: bool = False) -> datetime | None:
        """The moment in a recording, if the dumps are one; None: the last moment.

        `dates`: whether the command also uses `--at` without a recording.

        Raises:
            BadParameter: it is not a time, or there is no dump.
        """
        if self.at is None or (dates and not _has_recording(paths)):
            return None
        if not paths:
            raise typer.BadParameter("it is about a recording: name it with --from", param_hint="--at")
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
    if_: If = None
    edits: Edits = None
    requests: Requests = None
    compare: Compare = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            BadParameter: in words for the user.
        """
        if self.scheduler.get("call_extenders") and self.scheduler.get("scheduler_config") is None:
            raise typer.BadParameter(
                "it needs the configuration that names the extenders: give --scheduler-config",
                param_hint="--call-extenders",
            )
        if self.compare and not self._has_edits:
            raise typer.BadParameter("it needs edits: give --if, --edits or --requests", param_hint="--compare")

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
            BadParameter: the options name a cluster that cannot be watched.
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
                raise typer.BadParameter("a live cluster is watched: leave it out", param_hint=option)
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
    from kwhatif.sources.network import parse_timeout

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
    raise typer.BadParameter(f"{reason}: 2026-01-31T14:05Z is one, and 90m is 90 minutes ago", param_hint="--at")


def _refuse_standard_input(paths: Sequence[str]) -> None:
    if "-" in paths:
        raise typer.BadParameter(
            "it can be read only once, and is asked about again and again: name a file", param_hint="-"
        )
