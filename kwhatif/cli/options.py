"""Common options of commands, so that a command's signature reads as its usage; and completion of names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from kwhatif.api.options import Option, OptionError

if TYPE_CHECKING:
    from kwhatif.kube.model.cluster import Cluster

# --- completion: names of nodes and workloads in the dump of --from --------------------------------------------------


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
    Option("The same as MANIFEST, as in kubectl. Repeatable.", metavar="MANIFEST", name="filename", short="-f"),
]


def check_namespace(name: str) -> None:
    """Check that it can be the name of a namespace.

    Raises:
        ValueError: it cannot.
    """
    from kwhatif.kube.matching.field_errors import dns_label_errors

    wrong = dns_label_errors(name)
    if wrong:
        raise ValueError(f"{name!r} is not the name of a namespace: {'; '.join(wrong)}")


def _namespace(said: str) -> Option:
    return Option(said, metavar="NAME", short="-n", check=check_namespace)


Namespace = Annotated[
    str | None,
    _namespace("Namespace for objects that do not name one. Without it, that of the context, or default."),
]
#: For commands where `-n` leaves out other namespaces.
FindingsIn = Annotated[
    str | None, _namespace("Only findings about workloads of this namespace. Default: all namespaces.")
]
PodsIn = Annotated[
    str | None, _namespace("Only pods of this namespace, also the namespace of a NAME. Default: all namespaces.")
]
AllNamespaces = Annotated[bool, Option("All namespaces, even if -n is given.", short="-A")]


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


def output_option(choices: object, besides: str = "") -> Option:
    """The option `--output` with these formats."""
    return Option(f"How to print the answer: {one_of(choices)}{besides}.", metavar="FORMAT", short="-o")


def fail_on(*conditions: str, also: Sequence[str] = (), besides: str = "") -> Option:
    """The option `--fail-on` of a command whose answers can meet these conditions, besides caveats.

    Args:
        conditions: names in `kwhatif.policy.fail_on.CONDITIONS`.
        also: further ones, which `besides` explains.
        besides: another sentence at the end of its help.
    """
    alone = (*conditions, "missing", "caveats")
    allowed = (*conditions, *also, "missing", "caveats")

    def check(text: str) -> None:
        from kwhatif.policy.fail_on import parse_fail_on

        parse_fail_on(text, allowed)

    def complete(incomplete: str) -> list[str]:
        from kwhatif.kube.model.caveat import CODES

        done, comma, _ = incomplete.rpartition(",")
        given = done.split(",")
        names = [name for name in (*allowed, *CODES) if name not in given] + ([] if done else ["none"])
        return [name for name in (f"{done}{comma}{name}" for name in names) if name.startswith(incomplete)]

    said = f"What makes the exit code 1: none, or a list of {', '.join(alone)}, or the code of a caveat.{besides}"
    return Option(said, metavar="LIST", check=check, complete=complete)


#: Conditions about the simulation of what follows.
OF_AFTERMATH = ("pending", "stalled", "cycling")
#: The option `--fail-on` of commands about pods.
OF_PODS = fail_on(
    *("unschedulable", "rollout", "denied", "gated", "ignored", "preemption", "budget-violation"),
    also=OF_AFTERMATH,
    besides=" With --aftermath also pending, stalled and cycling.",
)
ColorOption = Annotated[Color, Option(f"When to use colours: {one_of(Color)}. NO_COLOR is honoured.", metavar="WHEN")]
Explain = Annotated[bool, Option("Show the whole story, with the cause of each event.")]


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


def parse_reports(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """Formats and files, or a usage error."""
    from kwhatif.render.formats import FORMATS

    made: list[tuple[str, Path]] = []
    for text in texts:
        name, _, file = text.partition("=")
        if name not in FORMATS or not file:
            raise OptionError("--report", f"{text!r} is not FORMAT=FILE with a format of {', '.join(FORMATS)}")
        made.append((name, Path(file)))
    return made


@dataclass(frozen=True)
class Printing:
    """How an answer is printed, in any format."""

    color: ColorOption = "auto"
    quiet: Annotated[bool, Option("Print only the verdicts.", short="-q")] = False
    report: Annotated[
        list[str] | None,
        Option(
            "Write the report to a file as well: html, markdown, json, yaml, junit, sarif, github, gitlab.",
            metavar="FORMAT=FILE",
            complete=_complete_report,
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse files in unknown formats.

        Raises:
            OptionError: in words for the user.
        """
        _ = self.files

    @property
    def files(self) -> Sequence[tuple[str, Path]]:
        """The other files that the report is written to, each with its format."""
        return parse_reports(self.report) if self.report else ()


def named(manifests: list[str] | None, filenames: list[str] | None) -> list[str]:
    """All manifests on the command line, at least one.

    Raises:
        OptionError: there is none.
    """
    named = [*joined(manifests), *(filenames or ())]
    if not named:
        raise OptionError(
            "MANIFEST",
            "name a file, a directory, a glob, - for standard input, or an object of the cluster: deploy/shop/web",
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


def seconds(text: str) -> float:
    """The seconds of an option such as `--min-interval 10s`; 0 for no limit.

    Raises:
        ValueError: it is not a time.
    """
    from kwhatif.kube.model.quantity import parse_timeout

    return parse_timeout(text) or 0.0


def listening_at(text: str) -> tuple[str, int]:
    """The address and the port of `--listen`.

    Raises:
        ValueError: it is not an address.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{text!r} is not an address and a port, such as 127.0.0.1:9095")
    return host.strip("[]"), int(port)
