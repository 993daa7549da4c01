"""Common options of commands, so that a command's signature reads as its usage; and completion of names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from typer.models import OptionInfo

if TYPE_CHECKING:
    from kwhatif.kube.model.cluster import Cluster

# --- completion: names of nodes and workloads in the dump of --from
# ------------------------------------------------------


#: Larger dumps (in bytes) take too long to read for a completion.
_MOST_BYTES = 4 << 20
#: The kinds whose names are proposed if no kind is typed.
_COMMON = ("deploy/", "sts/", "job/", "cronjob/", "rs/", "pod/")


def node_names(ctx: typer.Context) -> list[str]:
    """The names of all nodes; none if the dump is large or cannot be read: completion shows no errors."""
    from kwhatif.kube.model.node import Node

    cluster = _cluster(ctx)
    return sorted(cluster.all(Node)) if cluster is not None else []


def complete_node(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of nodes."""
    return [name for name in node_names(ctx) if name.startswith(incomplete)]


def complete_object(ctx: typer.Context, incomplete: str) -> list[str]:
    """Objects of the cluster that create pods, as `deploy/shop/web`; the shell itself completes files."""
    from kwhatif.kube.model.kinds import BY_WORD
    from kwhatif.kube.model.workload import POD_SOURCES

    word, slash, _ = incomplete.partition("/")
    given = ctx.params.get("manifests") or ()
    if not slash:
        return [kind for kind in _COMMON if kind.startswith(word)] if list(given)[-1:] == ["like"] else []
    resource = BY_WORD.get(word.lower())
    cluster = _cluster(ctx) if resource is not None and issubclass(resource.type, POD_SOURCES) else None
    if cluster is None or resource is None:
        return []
    objects: Mapping[str, object] = cluster.all(resource.type)
    names = (f"{word}/{key}" for key in sorted(objects))
    return [name for name in names if name.startswith(incomplete)]


def _cluster(ctx: typer.Context) -> Cluster | None:
    import kwhatif

    paths = list(ctx.params.get("from_") or ())
    if not paths or not all(os.path.isfile(path) and os.path.getsize(path) <= _MOST_BYTES for path in paths):  # noqa: PTH113, PTH202 - as the user wrote them
        return None
    try:
        return kwhatif.load(*paths).cluster
    except kwhatif.KwhatifError:
        return None


# --- options ---------------------------------------------------------------------------------------------------------


Manifests = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MANIFEST]...",
        help="Files, directories, globs, - for standard input, or objects of the cluster: deploy/NAMESPACE/NAME.",
        autocompletion=complete_object,
    ),
]
Filenames = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="MANIFEST", help="The same as MANIFEST, as in kubectl. Repeatable."),
]


def _namespace(name: str | None) -> str | None:
    from kwhatif.kube.matching.field_errors import dns_label_errors

    wrong = dns_label_errors(name) if name else ()
    if wrong:
        raise typer.BadParameter(f"{name!r} is not the name of a namespace: {'; '.join(wrong)}")
    return name


def _namespace_option(said: str) -> Any:
    return typer.Option("--namespace", "-n", help=said, metavar="NAME", callback=_namespace)


Namespace = Annotated[
    str | None,
    _namespace_option("Namespace for objects that do not name one. Without it, that of the context, or default."),
]
#: For commands where `-n` leaves out other namespaces.
FindingsIn = Annotated[
    str | None, _namespace_option("Only findings about workloads of this namespace. Default: all namespaces.")
]
PodsIn = Annotated[
    str | None, _namespace_option("Only pods of this namespace, also the namespace of a NAME. Default: all namespaces.")
]


AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Pods of all namespaces, even if -n is given.")
]


#: Formats of an answer; of an answer about several nodes; and of findings.
Output = Literal["table", "wide", "json", "yaml", "markdown", "html"]
SweepOutput = Literal[Output, "junit"]
FindingsOutput = Literal[SweepOutput, "sarif", "github", "gitlab"]
#: The values of `--color`.
Color = Literal["auto", "always", "never"]


def described(output: Output) -> int | None:
    """How many candidates for eviction are shown; None: all."""
    from kwhatif.render.evidence import BEST

    return BEST if output in ("table", "markdown", "html") else None


def one_of(choices: object) -> str:
    """The values of an option, for its help."""
    *others, last = get_args(choices)
    return f"{', '.join(others)} or {last}"


def output_option(choices: object, besides: str = "") -> Any:
    """The option `--output` with these formats."""
    said = f"How to print the answer: {one_of(choices)}{besides}."
    return typer.Option("--output", "-o", metavar="FORMAT", help=said)


def fail_on(*conditions: str, besides: str = "") -> OptionInfo:
    """The option `--fail-on` of a command whose answers can meet these conditions, besides caveats.

    Args:
        conditions: names in `kwhatif.policy.fail_on.CONDITIONS`.
        besides: another sentence at the end of its help.
    """
    allowed = (*conditions, "missing", "caveats")

    def check(text: str) -> str:
        from kwhatif.policy.fail_on import parse_fail_on

        try:
            parse_fail_on(text, allowed)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong)) from wrong
        return text

    def complete(incomplete: str) -> list[str]:
        from kwhatif.kube.model.caveat import CODES

        done, comma, _ = incomplete.rpartition(",")
        given = done.split(",")
        names = [name for name in (*allowed, *CODES) if name not in given] + ([] if done else ["none"])
        return [name for name in (f"{done}{comma}{name}" for name in names) if name.startswith(incomplete)]

    said = f"What makes the exit code 1: none, or a list of {', '.join(allowed)}, or the code of a caveat.{besides}"
    option: OptionInfo = typer.Option("--fail-on", metavar="LIST", help=said, callback=check, autocompletion=complete)
    return option


#: Conditions about the simulation of what follows.
OF_AFTERMATH = ("pending", "stalled", "cycling")
ColorOption = Annotated[
    Color,
    typer.Option("--color", metavar="WHEN", help=f"When to use colours: {one_of(Color)}. NO_COLOR is honoured."),
]
OutputOption = Annotated[Output, output_option(Output)]
SweepOutputOption = Annotated[SweepOutput, output_option(SweepOutput, "; junit needs --each")]
FailOn = Annotated[
    str,
    fail_on(
        *("unschedulable", "rollout", "denied", "gated", "ignored", "preemption", "budget-violation", *OF_AFTERMATH),
        besides=" With --aftermath also pending, stalled and cycling.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show the whole story, with the cause of each event.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdicts.")]


def _complete_report(incomplete: str) -> list[str]:
    names = {
        "json": "gate.json",
        "yaml": "gate.yaml",
        "junit": "junit.xml",
        "sarif": "kwhatif.sarif",
        "github": "annotations.txt",
        "gitlab": "codequality.json",
        "markdown": "gate.md",
        "html": "report.html",
    }
    return [option for option in (f"{name}={file}" for name, file in names.items()) if option.startswith(incomplete)]


ReportFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="Write the report to a file as well: html, markdown, json, yaml, junit, sarif, github, gitlab.",
        autocompletion=_complete_report,
    ),
]


def parse_reports(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """Formats and files, or a usage error."""
    from kwhatif.render.formats import FORMATS

    made: list[tuple[str, Path]] = []
    for text in texts:
        name, _, file = text.partition("=")
        if name not in FORMATS or not file:
            raise typer.BadParameter(
                f"{text!r} is not FORMAT=FILE with a format of {', '.join(FORMATS)}", param_hint="--report"
            )
        made.append((name, Path(file)))
    return made


@dataclass(frozen=True)
class Printing:
    """How an answer is printed, in any format."""

    color: ColorOption = "auto"
    quiet: Quiet = False
    report: ReportFiles = None

    def __post_init__(self) -> None:
        """Refuse files in unknown formats.

        Raises:
            BadParameter: in words for the user.
        """
        _ = self.files

    @property
    def files(self) -> Sequence[tuple[str, Path]]:
        """The other files that the report is written to, each with its format."""
        return parse_reports(self.report) if self.report else ()


def check_output(output: SweepOutput, *, each: bool) -> None:
    """Check that `-o junit` has scenarios: JUnit has a test for each.

    Raises:
        BadParameter: there are no scenarios.
    """
    if output == "junit" and not each:
        raise typer.BadParameter("a test case is a scenario: give --each, too", param_hint="--output")


def named(manifests: list[str] | None, filenames: list[str] | None) -> list[str]:
    """All manifests on the command line, at least one.

    Raises:
        typer.BadParameter: None is.
    """
    named = [*joined(manifests), *(filenames or ())]
    if not named:
        raise typer.BadParameter(
            "name a file, a directory, a glob, - for standard input, or an object of the cluster: deploy/shop/web",
            param_hint="MANIFEST",
        )
    return named


def joined(words: list[str] | None) -> list[str]:
    """Arguments, with `deployment web` as `deployment/web`."""
    from kwhatif.sources.manifests.given import joined_names

    return list(joined_names(words or ()))


def read_once(path: str | None) -> Any:
    """The path of a file; for standard input its text, because two answers may need it."""
    import kwhatif
    from kwhatif.sources.text.files import STDIN, standard_input

    return kwhatif.text(standard_input().read(), STDIN) if path == "-" else path


def seconds(text: str, option: str) -> float:
    """The seconds of an option such as `--min-interval 10s`; 0 for no limit.

    Raises:
        typer.BadParameter: it is not a time.
    """
    from kwhatif.sources.network import parse_timeout

    try:
        return parse_timeout(text) or 0.0
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong), param_hint=option) from wrong


def listening_at(text: str) -> tuple[str, int]:
    """The address and the port of `--listen`.

    Raises:
        typer.BadParameter: it is not an address.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise typer.BadParameter(
            f"{text!r} is not an address and a port, such as 127.0.0.1:9095", param_hint="--listen"
        )
    return host.strip("[]"), int(port)
