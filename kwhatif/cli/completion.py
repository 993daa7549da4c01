"""`kwhatif completion SHELL`: the script by which a shell completes commands, options, values and files."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated, Any, cast

import typer

from kwhatif.cli.app import commands

#: Cobra's `ShellCompDirective`: the shell completes names of files, or does not.
_DEFAULT, _NO_FILES = 0, 4


def main() -> None:
    """Print the candidates for the words in `sys.argv`."""
    print("\n".join(answer(sys.argv[1:])))  # noqa: T201 - the answer


def answer(words: list[str]) -> list[str]:
    """The lines of the answer."""
    from typer._click.shell_completion import CompletionItem, ShellComplete

    class Kubectl(ShellComplete):
        """The completion of some shell; only what it finds is wanted."""

        def source_vars(self) -> dict[str, Any]:
            return {}

        def get_completion_args(self) -> tuple[list[str], str]:
            return words[:-1], words[-1] if words else ""

        def format_completion(self, item: CompletionItem) -> str:
            return f"{item.value}\t{_first_line(item.help)}" if item.help else str(item.value)

    shell = Kubectl(cast("Any", commands()), {}, "kubectl whatif", "_KWHATIF_COMPLETE")
    found = shell.get_completions(*shell.get_completion_args())
    values = [shell.format_completion(item) for item in found if item.type == "plain"]
    return [*values, f":{_NO_FILES if values else _DEFAULT}"]


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].strip()


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
