"""`kwhatif completion SHELL`: the script by which a shell completes commands, options, values and files."""

from __future__ import annotations

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
