"""`question`: a command that asks a question of a cluster. What these commands have in common is written here, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from kwhatif.cli.cluster import SchedulerSource
from kwhatif.cli.cluster_options import Growth
from kwhatif.cli.option_groups import Without
from kwhatif.cli.options import Output, Printing, output_option
from kwhatif.cli.progress import counting_progress
from kwhatif.cli.run import Style, answer, parse_conditions

if TYPE_CHECKING:
    from kwhatif.api.options import Option
    from kwhatif.errors import ExitCode
    from kwhatif.questions.session.session import Session
    from kwhatif.report import Report

#: Called with how much of an answer is done, of how much.
Advance = Callable[[int, int], None]


class Ask(NamedTuple):
    """What a command asks of the cluster."""

    question: Callable[[Session, Sequence[str], Advance | None], Report]
    manifests: Sequence[str] = ()
    namespace: str | None = None
    #: What its progress counts, such as "scenarios"; "": there is no progress to show.
    counts: str = ""
    #: Whether the whole story is shown; and only one line.
    explain: bool = False
    quiet: bool = False
    #: Whether what follows is simulated: conditions of `--fail-on` may be about it.
    aftermath: bool = True
    #: The exit code, if it does not depend on `--fail-on`.
    code: Callable[[Report], ExitCode | None] = lambda _: None


def question(
    fail_on: Option,
    default: str,
    *,
    outputs: object = Output,
    besides: str = "",
    grows: bool = False,
    dates: bool = False,
    without: Sequence[str] = (),
) -> Callable[[Callable[..., Ask]], Callable[..., None]]:
    """A command, made of a function that takes its own options and says what is asked.

    The command has these options as well: the cluster's, `--output`, `--fail-on`, and how the answer is printed. The
    function gets those that it names: `cluster`, `growth`, `output`.

    Args:
        fail_on: the option of that name.
        default: its default.
        outputs: the formats of the answer.
        besides: what the help of `--output` adds.
        grows: whether an autoscaler can add nodes.
        dates: whether `--at` also means the moment that ages count to.
        without: options of the cluster that the command does not have.
    """
    own_output = Annotated[outputs, output_option(outputs, besides)]  # type: ignore[valid-type]

    def made(command: Callable[..., Ask]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)

        @wraps(command)
        def run(*, cluster: SchedulerSource, output: Any, fail_on: str, printing: Printing, **given: Any) -> None:
            growth: Growth | None = given.get("growth")
            named = {"cluster": cluster, "growth": growth, "output": output}
            asked = command(**{name: given.get(name, named.get(name)) for name in own.parameters})
            conditions = parse_conditions(fail_on, strict=cluster.strict, aftermath=asked.aftermath)

            def ask(session: Session, names: Sequence[str]) -> Report:
                with counting_progress(asked.counts) if asked.counts else nullcontext() as advance:
                    return asked.question(session, names, advance)

            answers = cluster.ask(ask, asked.manifests, namespace=asked.namespace, dates=dates, growth=growth)
            if asked.quiet:
                printing = replace(printing, quiet=True)
            answer(answers, Style(output, printing, asked.explain), conditions, asked.code(answers.report))

        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                _parameter("cluster", Annotated[SchedulerSource, Without(*without)]),
                *([_parameter("growth", Growth)] if grows else ()),
                *(each for each in own.parameters.values() if each.name not in ("cluster", "growth", "output")),
                _parameter("output", own_output, "table"),
                _parameter("fail_on", Annotated[str, fail_on], default),
                _parameter("printing", Printing),
            ]
        )
        return run

    return made


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
