"""`kwhatif watch QUESTION`: a question about a live cluster, asked again whenever its answer may have changed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.api.options import Option, OptionError
from kwhatif.cli.answers import WATCHER
from kwhatif.cli.maintenance import drain, outage
from kwhatif.cli.option_groups import expanded
from kwhatif.cli.options import seconds
from kwhatif.cli.pods import advise, capacity, preempt, queue, schedule
from kwhatif.cli.run import Style, drawn, now, print_data
from kwhatif.cli.usage import Command, CommandGroup

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from kwhatif.api.live import LiveCluster
    from kwhatif.cli.answers import Answers
    from kwhatif.cli.options import Printing
    from kwhatif.errors import ExitCode
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report


class Watched(Command):
    """A command that runs repeatedly, until it is interrupted."""

    def invoke(self, ctx: Any) -> None:
        """Ask, show, wait, and so on."""
        watching = Watching(seconds(ctx.parent.params["min_interval"]))
        with watching.current():
            while True:
                super().invoke(ctx)
                watching.wait()


app = typer.Typer(cls=CommandGroup, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
for command in (schedule, preempt, drain, outage, capacity, queue, advise):
    app.command(cls=Watched)(expanded(command))


@app.callback()
@expanded
def watch(
    min_interval: Annotated[
        str,
        Option("The shortest time between two answers, such as 10s.", metavar="TIME", check=seconds),
    ] = "1s",
) -> None:
    """Ask a question again whenever the cluster has changed, and show what is different in the answer.

    \b
    Examples:
      kwhatif watch schedule deployment.yaml
      kwhatif watch --min-interval 10s queue -o json
      kwhatif watch drain --each pool=general --ignore-daemonsets
    """


# --- repeated questions ----------------------------------------------------------------------------------------------


#: Seconds between updates of the state's age in the terminal.
_TICK = 1.0
#: Seconds after which missing news is reported on standard error.
_WORTH_A_WORD = 5.0
#: Seconds after which the question is repeated in any case (`DefaultPodMaxInUnschedulablePodsDuration`).
_AT_LATEST = 300.0
#: The maximum share of the time that is spent on computing answers.
_SHARE = 0.5


class Watching:
    """Provides the cluster, shows answers, and waits until the answer may have changed."""

    def __init__(self, min_interval: float) -> None:
        self._min_interval = min_interval
        self._live: LiveCluster | None = None
        self._display: _Display | None = None
        self._last: Report | None = None
        #: When the last question started, and how long the answer took.
        self._asked_at = self._took = 0.0
        self._told: frozenset[str] = frozenset()

    @contextmanager
    def current(self) -> Iterator[None]:
        """A context in which commands get the cluster from here, and pass their answers here."""
        token = WATCHER.set(self)
        try:
            yield
        finally:
            WATCHER.reset(token)
            if self._display is not None:
                self._display.close()
            if self._live is not None:
                self._live.__exit__(None, None, None)

    def session(self, watch: Callable[[], LiveCluster]) -> Session:
        """The cluster as it is now; `watch` says which one, and it is read at the first call."""
        if self._live is None:
            live = watch()
            self._live = live.__enter__()
            self._live.settle()
        self._asked_at = time.monotonic()
        return self._live.session

    def show(self, answers: Answers, output: str, printing: Printing, explain: bool, code: ExitCode) -> None:  # noqa: FBT001
        """Show the answer, if it has changed."""
        del code
        report = answers.report
        assert self._live is not None, "it was asked"
        self._live.answered(report)
        self._took = time.monotonic() - self._asked_at
        display = self._display
        if display is None:
            display = self._display = _display(Style(output, printing, explain))
        changes = self._changes(report)
        if self._last is None or changes or not _same(self._last, report):
            display.show(report, changes, self._age)
        self._last = report
        display.tick(self._status())

    def wait(self) -> None:
        """Wait until something has changed that may change the answer, and no news is missing.

        Five minutes at most, as in the scheduler: its messages about pods that stay pending are then renewed.
        """
        live = self._live
        assert live is not None, "a question was asked"
        not_before = self._asked_at + self._took + max(self._min_interval, self._took * (1 / _SHARE - 1))
        has_changed = False
        while True:
            rest = not_before - time.monotonic()
            has_changed |= live.wait(min(_TICK, max(rest, 0.05)) if has_changed else _TICK)
            if self._display is not None:
                self._display.tick(self._status())
            self._tell()
            now = time.monotonic()
            is_due = has_changed or now - self._asked_at > _AT_LATEST
            if is_due and not live.behind and now >= not_before:
                return

    @property
    def _age(self) -> float:
        return 0.0 if self._live is None else self._live.age

    def _status(self) -> str:
        assert self._live is not None, "a question was asked"
        behind = self._live.behind
        waits = f" · waits for {', '.join(sorted(behind)[:3])}{' and others' if len(behind) > 3 else ''}"
        return f"{self._live.name} · known as of {self._live.age:.0f} s ago{waits if behind else ''}"

    def _tell(self) -> None:
        """Report once on standard error that news has been missing for a while, and once that it is complete again."""
        assert self._live is not None, "a question was asked"
        behind = self._live.behind
        if behind and not self._told and self._live.age > _WORTH_A_WORD:
            name, reason = next(iter(behind.items()))
            self._say(f"waiting for {name}: {reason}")
            self._told = frozenset(behind)
        elif self._told and not behind:
            self._say("the cluster is known again")
            self._told = frozenset()

    def _say(self, what: str) -> None:
        from kwhatif.render.safe import safe

        if not isinstance(self._display, _OnTerminal):
            typer.echo(safe(what), err=True)

    def _changes(self, report: Report) -> list[str]:
        from kwhatif.api.compare import compare
        from kwhatif.render.comparison import changes

        before = self._last
        if before is None:
            return []
        was, now = before.scheduler.version, report.scheduler.version
        upgraded = [f"kube-scheduler {was} → {now}: the cluster is of that release now"] if was != now else []
        return [*upgraded, *changes(compare(before, report))]


def _same(before: Report, after: Report) -> bool:
    """Whether the answers only differ in the size of the cluster."""
    from msgspec.structs import replace

    return replace(before, snapshot=after.snapshot) == after


def _display(style: Style) -> _Display:
    if style.output == "json":
        return _JsonLines(style)
    if style.output not in ("table", "wide"):
        message = f"there is no {style.output} of an answer that changes: table, wide or json"
        raise OptionError("--output", message)
    return _OnTerminal(style) if sys.stdout.isatty() else _Lines(style)


class _Display:
    """Where answers are shown."""

    def __init__(self, style: Style) -> None:
        self.style = style

    def show(self, report: Report, changes: list[str], age: float) -> None:
        """Show a new answer, its difference from the last one, and the age of the state, in seconds."""
        raise NotImplementedError

    def tick(self, status: str) -> None:
        """Show how complete the state is, if the display can be updated in place."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class _JsonLines(_Display):
    """One line of JSON for each answer."""

    def show(self, report: Report, changes: list[str], age: float) -> None:
        import msgspec  # not needed for --help

        from kwhatif.render.safe import safe_json

        line: dict[str, Any] = {
            "apiVersion": report.api_version,
            "kind": "Answer",
            "time": _time(),
            "age": round(age, 1),
            "changes": changes,
            "report": msgspec.Raw(report.to_json().encode()),
        }
        print_data(safe_json(msgspec.json.encode(line).decode()) + "\n", "json")
        sys.stdout.flush()


class _Lines(_Display):
    """One line for each change, as in a log; at first a line for each part that may change."""

    _has_begun = False

    def show(self, report: Report, changes: list[str], age: float) -> None:  # noqa: ARG002
        from kwhatif.render.comparison import summary
        from kwhatif.render.safe import safe, shortened

        time_ = _time()
        for line in changes if self._has_begun else summary(report):
            print_data(f"{time_}  {safe(shortened(line))}\n", "table")
        self._has_begun = True
        sys.stdout.flush()


class _OnTerminal(_Display):
    """The answer in place, with the latest changes last."""

    def __init__(self, style: Style) -> None:
        super().__init__(style)
        self._live: Live | None = None
        self._parts: list[RenderableType] = []
        self._changes: list[str] = []
        self._shown_at = ""

    def show(self, report: Report, changes: list[str], age: float) -> None:  # noqa: ARG002
        self._parts = list(drawn(report, self.style))
        self._changes, self._shown_at = changes, _time()

    def tick(self, status: str) -> None:
        from rich.console import Group

        from kwhatif.render.terminal import FAINT, WARN, text

        changed = [text(f"changed at {self._shown_at}:", FAINT), *(text(line, WARN) for line in self._changes)]
        parts = (text(status, FAINT), *self._parts, *(changed if self._changes else ()))
        if self._live is None:
            from rich.live import Live

            from kwhatif.cli.run import console_of

            console = console_of(self.style.printing.color)
            self._live = Live(console=console, auto_refresh=False, vertical_overflow="ellipsis")
            self._live.start()
        self._live.update(Group(*parts), refresh=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


def _time() -> str:
    return now().strftime("%Y-%m-%dT%H:%M:%SZ")
