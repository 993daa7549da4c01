"""Options that say how the cluster would be different, and their completion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated

import typer

from kwhatif.cli.usage import EDITS

#: A dump of more bytes is not read while somebody waits for a completion.
_MOST_BYTES = 4 << 20
#: Verbs that are followed by names of nodes.
_ABOUT_NODES = ("cordon", "uncordon", "taint")


def complete_edit(ctx: typer.Context, incomplete: str) -> list[str]:
    """Verbs; after those that are about nodes, the names of nodes of the dump that `--from` names."""
    from kwhatif.edits.parse import VERBS

    head, blank, last = incomplete.rpartition(" ")
    verb = head.split(" ", 1)[0]
    if not blank:
        return [f"{verb} " for verb in VERBS if verb.startswith(last)]
    names: Iterable[str] = ()
    if verb in _ABOUT_NODES or head.endswith(" like"):
        names = _nodes(ctx.params.get("from_") or ())
    elif verb == "delete" and last.startswith("node/"):
        names = (f"node/{name}" for name in _nodes(ctx.params.get("from_") or ()))
    return [f"{head} {name}" for name in names if name.startswith(last)]


def _nodes(dumps: Iterable[str]) -> list[str]:
    """None where a dump is large, or cannot be read: nobody waits for it, or sees an error."""
    import kwhatif
    from kwhatif.model.node import Node

    paths = list(dumps)
    if not paths or not all(os.path.isfile(path) and os.path.getsize(path) <= _MOST_BYTES for path in paths):  # noqa: PTH113, PTH202 - as the user wrote them
        return []
    try:
        return sorted(kwhatif.load(*paths).cluster.all(Node))
    except kwhatif.KwhatifError:
        return []


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
Compare = Annotated[
    bool,
    typer.Option("--compare", help="Show the answers without and with the edits side by side.", rich_help_panel=EDITS),
]
