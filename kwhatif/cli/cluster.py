"""Options that say which cluster is meant: the same for every command, declared once."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kwhatif.cli.edits import Compare, Edits, If
from kwhatif.cli.run import now
from kwhatif.cli.stages import Stages
from kwhatif.cli.usage import CLUSTER, OTHER, SCHEDULER, check_not_swapped
from kwhatif.garbage import MANY, no_garbage_collection

if TYPE_CHECKING:
    from kwhatif.api import SchedulerOptions
    from kwhatif.report import Report
    from kwhatif.sources.dumps.progress import Progress
    from kwhatif.sources.live.options import LiveArguments
    from kwhatif.whatif.session import Session


def complete_version(incomplete: str) -> list[str]:
    """The releases that are modelled."""
    from kwhatif.release import MINORS

    return [version for version in (f"1.{minor}" for minor in MINORS) if version.startswith(incomplete)]


def complete_gate(ctx: typer.Context, incomplete: str) -> list[str]:
    """The gates of the release that are not locked."""
    from kwhatif.sources.scheduler.release import completed_gates

    return completed_gates(ctx.params.get("kubernetes_version"), incomplete)


From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="PATH",
        help="Read the cluster from this dump: a file, a directory, an archive, or - for standard input. Repeatable."
        " Without it, the live cluster is read.",
        rich_help_panel=CLUSTER,
    ),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig file to use.", rich_help_panel=CLUSTER),
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="The context of the kubeconfig to use.", rich_help_panel=CLUSTER),
]
As = Annotated[
    str | None,
    typer.Option("--as", metavar="USER", help="Read the cluster as this user.", rich_help_panel=CLUSTER),
]
AsGroup = Annotated[
    list[str] | None,
    typer.Option(
        "--as-group",
        metavar="GROUP",
        help="Read it as a member of this group; needs --as. Repeatable.",
        rich_help_panel=CLUSTER,
    ),
]
RequestTimeout = Annotated[
    str,
    typer.Option(
        "--request-timeout",
        metavar="TIME",
        help="How long one request may take, such as 30s. 0: no limit.",
        rich_help_panel=CLUSTER,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail if information about the cluster is missing; else that is a caveat.",
        rich_help_panel=CLUSTER,
    ),
]
SchedulerConfig = Annotated[
    str | None,
    typer.Option(
        "--scheduler-config",
        metavar="FILE",
        help="The KubeSchedulerConfiguration of your scheduler. Without it, kube-scheduler's defaults.",
        rich_help_panel=SCHEDULER,
    ),
]
CallExtenders = Annotated[
    bool,
    typer.Option(
        "--call-extenders",
        help="Call the extenders of that configuration. Without it, each of them is a caveat.",
        rich_help_panel=SCHEDULER,
    ),
]
Plugin = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE:CLASS",
        help="Add a scheduler plugin of your own, written in Python. Repeatable.",
        rich_help_panel=SCHEDULER,
    ),
]
KubernetesVersion = Annotated[
    str | None,
    typer.Option(
        "--kubernetes-version",
        metavar="VERSION",
        help="The release whose scheduler is asked, such as 1.34; else $KWHATIF_KUBERNETES_VERSION, else what the"
        " cluster says.",
        rich_help_panel=SCHEDULER,
        autocompletion=complete_version,
    ),
]
FeatureGates = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="A=true,B=false",
        help="Feature gates of kube-scheduler that differ from the release's defaults. Repeatable.",
        rich_help_panel=SCHEDULER,
        autocompletion=complete_gate,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print on standard error how long each step took, and how much memory.",
        rich_help_panel=OTHER,
    ),
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
        """What the library needs to know about a live cluster."""
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
            raise typer.BadParameter(
                "it is about the live cluster, but --from names a dump: leave one of them out", param_hint=given[0]
            )
        if self.as_group and self.as_user is None:
            raise typer.BadParameter("it needs a user: give --as as well", param_hint="--as-group")
        try:
            parse_timeout(self.request_timeout)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), param_hint="--request-timeout") from wrong


class Answers(NamedTuple):
    """What a command has found out; `before` is the answer without the edits, where that is wanted too."""

    report: Report
    before: Report | None = None


class Source(NamedTuple):
    """A cluster, and the scheduler to ask about it."""

    where: Where
    scheduler_config: str | None
    call_extenders: bool
    plugin: list[str] | None
    if_: list[str] | None = None
    edits: list[str] | None = None
    compare: bool = False
    kubernetes_version: str | None = None
    feature_gates: list[str] | None = None

    @property
    def strict(self) -> bool:
        """Whether missing information is an error."""
        return self.where.strict

    def load(self, *, manifests: Sequence[str] = (), lenient: bool = False, namespace: str | None = None) -> Session:
        """Read it, and make the edits; `lenient` for commands that have their own answer to missing information.

        `namespace` is that of objects which edits name without one.

        Raises:
            UsageError: this is not a cluster, and one of the manifests is: the two are swapped.
            InputError: an edit is wrong.
        """
        with no_garbage_collection():
            session = self._read(strict=self.strict and not lenient)
            if self.where.from_:
                check_not_swapped(self.where.from_, manifests, session)
            _keep(session)
        if not (self.if_ or self.edits):
            return session
        from kwhatif.api import edited_by

        return edited_by(session, self.if_ or (), files=self.edits or (), namespace=namespace, option="--if")

    def ask(
        self,
        question: Callable[[Session, Sequence[str]], Report],
        manifests: Sequence[str] = (),
        *,
        lenient: bool = False,
        namespace: str | None = None,
    ) -> Answers:
        """Read the cluster, and ask about these manifests; with `--compare` without the edits as well."""
        session = self.load(manifests=manifests, lenient=lenient, namespace=namespace)
        if not self.compare or session.unedited is None:
            return Answers(question(session, manifests))
        import kwhatif
        from kwhatif.sources.text.files import STDIN

        again = [kwhatif.text(sys.stdin.buffer.read(), STDIN) if path == "-" else path for path in manifests]
        before = question(session.unedited, again)
        return Answers(question(session, again), before)

    def _read(self, *, strict: bool) -> Session:
        import kwhatif

        if self.plugin or self.scheduler_config:
            from kwhatif.sources.scheduler.plugin_fence import fence_for_good

            fence_for_good()
        scheduler: SchedulerOptions = {
            "scheduler_config": self.scheduler_config,
            "call_extenders": self.call_extenders,
            "plugins": self.plugin or (),
            "kubernetes_version": self.kubernetes_version,
            "feature_gates": ",".join(self.feature_gates or ()),
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
    if_: If = None,
    edits: Edits = None,
    compare: Compare = False,
    kubernetes_version: KubernetesVersion = None,
    feature_gates: FeatureGates = None,
) -> Source:
    if call_extenders and scheduler_config is None:
        raise typer.BadParameter(
            "it needs the configuration that names the extenders: give --scheduler-config",
            param_hint="--call-extenders",
        )
    if compare and not (if_ or edits):
        raise typer.BadParameter("it needs edits: give --if or --edits", param_hint="--compare")
    return Source(
        where, scheduler_config, call_extenders, plugin, if_, edits, compare, kubernetes_version, feature_gates
    )


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
