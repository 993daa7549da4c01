"""`kwhatif completion SHELL`: the script by which a shell completes commands, options, values and files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from typing import Annotated

import typer


class Shell(Enum):
    """Shells that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that the script is for.")]) -> None:
    """Print the script with which your shell completes commands, options, values and files.

    \b
    Examples:
      source <(kwhatif completion bash)
      kwhatif completion zsh > "${fpath[1]}/_kwhatif"
      kwhatif completion fish > ~/.config/fish/completions/kwhatif.fish
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="kwhatif", complete_var="_KWHATIF_COMPLETE", shell=shell.value))


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
