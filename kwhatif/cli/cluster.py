"""Options that say which cluster is meant: the same for every command, declared once."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kwhatif.cli.run import now
from kwhatif.cli.stages import Stages
from kwhatif.garbage import MANY, no_garbage_collection

if TYPE_CHECKING:
    from kwhatif.api import SchedulerOptions
    from kwhatif.sources.live.options import LiveArguments
    from kwhatif.sources.progress import Progress
    from kwhatif.whatif.session import Session

From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="PATH",
        help="A cluster dump: file, directory, archive or -. Repeatable. Without it, the live cluster.",
    ),
]
Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig to use.")]
Context = Annotated[str | None, typer.Option("--context", metavar="NAME", help="The kubeconfig's context to use.")]
As = Annotated[str | None, typer.Option("--as", metavar="USER", help="The user to impersonate.")]
AsGroup = Annotated[
    list[str] | None, typer.Option("--as-group", metavar="GROUP", help="A group to impersonate. Repeatable.")
]
RequestTimeout = Annotated[
    str,
    typer.Option("--request-timeout", metavar="TIME", help="How long one request may take, such as 30s; 0: for ever."),
]
SchedulerConfig = Annotated[
    str | None,
    typer.Option("--scheduler-config", metavar="FILE", help="The KubeSchedulerConfiguration of the scheduler to ask."),
]
CallExtenders = Annotated[
    bool, typer.Option("--call-extenders", help="Call the extenders of that configuration; else each is a caveat.")
]
Plugin = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Add a plugin of your own to every profile. Repeatable."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Fail where information is missing, instead of a caveat.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say on standard error what took how long, and how much memory.")
]


class Where(NamedTuple):
    """The cluster that the options name."""

    from_: list[str] | None
    kubeconfig: str | None
    context: str | None
    as_user: str | None
    as_group: list[str] | None
    request_timeout: str
    strict: bool
    stages: Stages

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """Whom to tell how far the reading is."""
        if self.stages.verbose:
            yield self.stages.tell
            return
        from kwhatif.cli.progress import progress

        with progress() as tell:
            yield tell

    def live(self) -> LiveArguments:
        """What the library is told about a live cluster."""
        return {
            "kubeconfig": self.kubeconfig,
            "context": self.context,
            "as_user": self.as_user,
            "as_groups": self.as_group or (),
            "request_timeout": self.request_timeout,
        }

    def check(self) -> None:
        """Tell what cannot be meant.

        Raises:
            BadParameter: in words for the user.
        """
        from kwhatif.sources.timeout import parse_timeout

        named = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.as_user}
        given = [name for name, value in named.items() if value is not None]
        if self.from_ and given:
            raise typer.BadParameter("says nothing about a dump: leave it out, or --from", param_hint=given[0])
        if self.as_group and self.as_user is None:
            raise typer.BadParameter("groups are impersonated with a user only: give --as", param_hint="--as-group")
        try:
            parse_timeout(self.request_timeout)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), param_hint="--request-timeout") from wrong


class Source(NamedTuple):
    """A cluster, and the scheduler to ask about it."""

    where: Where
    scheduler_config: str | None
    call_extenders: bool
    plugin: list[str] | None

    @property
    def strict(self) -> bool:
        """Whether missing information is an error."""
        return self.where.strict

    def load(self, *, lenient: bool = False) -> Session:
        """Read it; `lenient` for commands that have their own answer to missing information."""
        with no_garbage_collection():
            session = self._read(strict=self.strict and not lenient)
            _keep(session)
        return session

    def _read(self, *, strict: bool) -> Session:
        import kwhatif

        scheduler: SchedulerOptions = {
            "scheduler_config": self.scheduler_config,
            "call_extenders": self.call_extenders,
            "plugins": self.plugin or (),
        }
        with self.where.progress() as tell:
            if self.where.from_:
                moment = datetime.fromtimestamp(now(), UTC)
                return kwhatif.load(*self.where.from_, strict=strict, progress=tell, now=moment, **scheduler)
            return kwhatif.load_live(**self.where.live(), strict=strict, progress=tell, **scheduler)


def _keep(session: Session) -> None:
    """Nobody looks for garbage among a cluster's objects, nor takes them apart in the end.

    There are millions, of which this process needs each until it exits: a cycle that the collector never sees again
    holds them.
    """
    kept: list[object] = [session]
    kept.append(kept)
    gc.freeze()
    gc.set_threshold(MANY)


def _where(
    from_: From = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    as_user: As = None,
    as_group: AsGroup = None,
    request_timeout: RequestTimeout = "1m",
    strict: Strict = False,
    verbose: Verbose = False,
) -> Where:
    stages = Stages(verbose=verbose)
    where = Where(from_, kubeconfig, context, as_user, as_group, request_timeout, strict, stages)
    where.check()
    return where


def _source(
    where: Where,
    scheduler_config: SchedulerConfig = None,
    call_extenders: CallExtenders = False,
    plugin: Plugin = None,
) -> Source:
    if call_extenders and scheduler_config is None:
        raise typer.BadParameter("extenders are in a --scheduler-config: give one", param_hint="--call-extenders")
    return Source(where, scheduler_config, call_extenders, plugin)


#: Parameters that stand for several options -> what makes their value of those.
_GROUPS: dict[str, Callable[..., Any]] = {"cluster": _source, "where": _where}


def reads_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options in the place of its parameter `cluster`, a `Source`, or `where`, a `Where`."""
    own = inspect.signature(command, eval_str=True)
    parameters = list(_spread(own))

    @wraps(command)
    def run(**values: Any) -> None:
        arguments = _gathered(own, values)
        where = arguments["where"] if "where" in arguments else arguments["cluster"].where
        with where.stages:
            command(**arguments)

    # Keywords only: options with defaults may then stand before those without.
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = own.replace(parameters=keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _spread(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters, with those of its group in the place of each that stands for one."""
    for parameter in signature.parameters.values():
        if parameter.name in _GROUPS:
            yield from _spread(inspect.signature(_GROUPS[parameter.name], eval_str=True))
        else:
            yield parameter


def _gathered(signature: inspect.Signature, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments for a function of that signature, groups made of their options."""
    arguments = {}
    for name in signature.parameters:
        if name in _GROUPS:
            make = _GROUPS[name]
            arguments[name] = make(**_gathered(inspect.signature(make), values))
        else:
            arguments[name] = values[name]
    return arguments
