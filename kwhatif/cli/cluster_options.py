"""Options that say which cluster is meant, and what is edited in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from kwhatif.cli.names import node_names
from kwhatif.cli.usage import CLUSTER, EDITS, OTHER

#: Verbs that are followed by names of nodes.
_ABOUT_NODES = ("cordon", "uncordon", "taint")


def complete_edit(ctx: typer.Context, incomplete: str) -> list[str]:
    """Verbs; after those that are about nodes, the names of nodes of the dump that `--from` names."""
    from kwhatif.edits.verbs import VERBS

    head, blank, last = incomplete.rpartition(" ")
    verb = head.split(" ", 1)[0]
    if not blank:
        return [f"{verb} " for verb in VERBS if verb.startswith(last)]
    names: Iterable[str] = ()
    if verb in _ABOUT_NODES or head.endswith(" like"):
        names = node_names(ctx)
    elif verb == "delete" and last.startswith("node/"):
        names = (f"node/{name}" for name in node_names(ctx))
    return [f"{head} {name}" for name in names if name.startswith(last)]


If = Annotated[
    list[str] | None,
    typer.Option(
        "--if",
        metavar="EDIT",
        help="What would be so: cordon NODE, scale deploy/shop/web=5, add 3 nodes like NODE. Repeatable, in order.",
        rich_help_panel=EDITS,
        autocompletion=complete_edit,
    ),
]
Edits = Annotated[
    list[str] | None,
    typer.Option(
        "--edits",
        metavar="FILE",
        help="The same from a YAML list; made before those of --if. Repeatable.",
        rich_help_panel=EDITS,
    ),
]
Requests = Annotated[
    list[str] | None,
    typer.Option(
        "--requests",
        metavar="FROM",
        help="Pods request what they need by the cluster's VerticalPodAutoscalers (vpa), its PodMetrics (metrics)"
        ", or a file: kubectl top pods --containers, CSV, PodMetrics; of Prometheus cpu=FILE, memory=FILE. Repeatable.",
        rich_help_panel=EDITS,
    ),
]
Compare = Annotated[
    bool,
    typer.Option("--compare", help="Show the answers without and with the edits side by side.", rich_help_panel=EDITS),
]


def complete_version(incomplete: str) -> list[str]:
    """The releases that are modelled."""
    from kwhatif.scheduler.release import MINORS

    return [version for version in (f"1.{minor}" for minor in MINORS) if version.startswith(incomplete)]


def check_ages_at(at: str | None) -> None:
    """Check the moment before the cluster is read.

    Raises:
        BadParameter: it is not a time.
    """
    from kwhatif.kube.model.meta import parse_time

    try:
        parse_time(at or "2026-01-31T12:00:00Z")
    except ValueError as wrong:
        said = f"{at!r} is not an RFC 3339 time, such as 2026-01-31T12:00:00Z"
        raise typer.BadParameter(said, param_hint="--at") from wrong


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
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="Of a recording (--from): what the cluster was like then: 2026-01-31T14:05Z, or 90m for 90 minutes ago.",
        rich_help_panel=CLUSTER,
    ),
]
#: Of commands that need it also without a recording.
AgesAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The moment that ages count to, and of a recording the one that is read, such as 2026-01-31T12:00:00Z."
        " Without it, when the dump was taken.",
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
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print on standard error how long each step took, and how much memory.",
        rich_help_panel=OTHER,
    ),
]
