"""Options with edits of the cluster, and their completion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from kwhatif.cli.names import node_names
from kwhatif.cli.usage import EDITS

#: Verbs that are followed by names of nodes.
_ABOUT_NODES = ("cordon", "uncordon", "taint")


def complete_edit(ctx: typer.Context, incomplete: str) -> list[str]:
    """Verbs; after verbs for nodes, the names of nodes of the dump that `--from` names."""
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
        help="Edit the cluster first: cordon NODE, scale deploy/shop/web=5, add 3 nodes like NODE."
        " Repeatable, in order.",
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
