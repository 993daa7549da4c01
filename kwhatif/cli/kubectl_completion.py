"""Completion of `kubectl whatif`: kubectl 1.26 and later runs `kubectl_complete-whatif` (cobra's protocol).

The arguments are the words after `kubectl whatif`; the last one is to be completed. It prints the candidates, one per
line, perhaps with a description after a tab; then a line that says what the shell must do.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from kwhatif.cli.app import commands

#: Cobra's `ShellCompDirective`: whether the shell completes names of files.
_DEFAULT, _NO_FILES = 0, 4


def main() -> None:
    """Print the candidates for the words in `sys.argv`."""
    print("\n".join(answer(sys.argv[1:])))  # noqa: T201 - the answer


def answer(words: list[str]) -> list[str]:
    """The lines of the answer."""
    from typer._click.shell_completion import CompletionItem, ShellComplete

    class Kubectl(ShellComplete):
        """The completion of any shell: only what it finds is used."""

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
