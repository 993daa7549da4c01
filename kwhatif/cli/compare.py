"""`kwhatif compare`: what is different between two clusters, and which answers differ because of it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.api.options import SCHEDULER, CompareArguments, GatesOption, Option, OptionError
from kwhatif.cli.answers import Answers, Asking
from kwhatif.cli.cluster import ClusterSource
from kwhatif.cli.options import Output, Printing, fail_on, output_option
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, now, parse_conditions
from kwhatif.cli.usage import UsageError
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import no_garbage_collection

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

#: The word for the live cluster in place of a dump.
_LIVE = "live"
#: Commands that can be a question: each has one answer about a cluster.
QUESTIONS = ("schedule", "preempt", "queue", "capacity", "simulate", "drain", "outage", "deschedule", "gate")

Dumps = Annotated[
    list[str] | None,
    typer.Argument(metavar="[OLD] [NEW]", help="Two dumps or snapshots; `live` is the live cluster."),
]


def compare(
    *,
    ctx: typer.Context,
    where: ClusterSource,
    dumps: Dumps = None,
    question: Annotated[
        list[str] | None,
        Option(
            "What is asked of both, such as 'schedule web.yaml'. Repeatable. Without it, the pending pods.",
            metavar="COMMAND",
        ),
    ] = None,
    options: CompareArguments,
    config: Annotated[
        list[str] | None,
        Option(
            "The KubeSchedulerConfiguration; twice: one cluster under two of them.", metavar="FILE", group=SCHEDULER
        ),
    ] = None,
    kubernetes_version: Annotated[
        list[str] | None,
        Option(
            "The release whose scheduler is asked; twice: one cluster under two of them.",
            metavar="VERSION",
            group=SCHEDULER,
        ),
    ] = None,
    gates: GatesOption,
    output: Annotated[Output, output_option(Output)] = "table",
    fail_on: Annotated[str, fail_on("answers", "changes")] = "answers",
    printing: Printing,
) -> None:
    """What is different between two clusters, and which answers differ because of which changes?

    For each answer that differs: the smallest set of changes that makes the difference, found and proven by asking.

    \b
    Examples:
      kwhatif compare monday.json.gz tuesday.json.gz --question 'schedule web.yaml'
      kwhatif compare monday.json.gz live --question queue --question 'drain a1 --ignore-daemonsets'
      kwhatif compare --from cluster.yaml --config now.yaml --config then.yaml --question 'schedule web.yaml'
    """
    import kwhatif

    conditions = parse_conditions(fail_on, strict=where.strict)
    sources = _sources(dumps or (), where)
    pairs = {
        "--config": _pair(config, "--config"),
        "--kubernetes-version": _pair(kubernetes_version, "--kubernetes-version"),
    }
    if sources[0] == sources[1] and all(one == other for one, other in pairs.values()):
        same = "both are the same: " if dumps else ""
        raise OptionError("OLD NEW", f"{same}name two dumps, or two of --config or --kubernetes-version")
    asked = {words: _question(words, ctx.find_root().command) for words in question or ()}

    def read(side: int) -> Session:
        scheduler: dict[str, Any] = {
            "scheduler_config": pairs["--config"][side],
            "kubernetes_version": pairs["--kubernetes-version"][side],
            **gates,
        }
        with where.progress() as advance, no_garbage_collection():
            if sources[side] == (_LIVE,):
                return kwhatif.load_live(**where.live(), strict=where.strict, progress=advance, **scheduler)
            return kwhatif.load(*sources[side], strict=where.strict, progress=advance, now=now(), **scheduler)

    before, after = _both(read)
    one, other = pairs["--config"]
    with counting_progress("answers") as advance:
        report = kwhatif.compare_clusters(
            before, after, asked or None, configured=one != other, progress=advance, **options
        )
    answer(Answers(report, session=after), Style(output, printing), conditions)


def _both(read: Callable[[int], Session]) -> tuple[Session, Session]:
    """The two clusters.

    Raises:
        InputError: with the problems of each.
    """
    found: list[Session] = []
    problems: list[Problem] = []
    for side in range(2):
        try:
            found.append(read(side))
        except InputError as wrong:
            problems += wrong.problems
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    before, after = found
    return before, after


def _sources(dumps: Sequence[str], where: ClusterSource) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sources of the two clusters."""
    if where.at is not None:
        raise OptionError("--at", "`kwhatif snapshot info` shows what is in a recording")
    if len(dumps) == 2 and not where.from_:
        return (dumps[0],), (dumps[1],)
    if dumps:
        raise OptionError("OLD NEW", "name two dumps, and no --from")
    named = tuple(where.from_ or (_LIVE,))
    return named, named


def _pair(given: Sequence[str] | None, option: str) -> tuple[str | None, str | None]:
    if given is None or not given:
        return None, None
    if len(given) > 2:
        raise OptionError(option, "give it once for both, or once for each")
    return given[0], given[-1]


def _question(text: str, commands: Any) -> Callable[[Session], Report]:
    """A question that runs this command line with a cluster; `commands`: all commands, as Typer builds them.

    Raises:
        BadParameter: it is not such a command.
    """
    from kwhatif.edits.parse import split_words

    try:
        words = split_words(text)
    except ValueError as wrong:
        raise OptionError("--question", f"cannot be split into words: {wrong}") from wrong
    if words[:1] == ["kwhatif"]:
        words = words[1:]
    if not words or words[0] not in QUESTIONS:
        said = f"{words[0] if words else text!r} is not one of {', '.join(QUESTIONS)}"
        raise OptionError("--question", said)

    def ask(session: Session) -> Report:
        asking = Asking(session)
        try:
            asking.of(lambda: commands(words, prog_name="kwhatif", standalone_mode=False))
        except UsageError as wrong:
            raise OptionError("--question", f"{text!r}: {wrong.message}") from wrong
        if asking.answers is None:
            raise OptionError("--question", f"{text!r} has no answer")
        return asking.answers.report

    return ask
