"""Commands that read no cluster: `kwhatif version`, `explain`, `rbac` and `completion`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from kwhatif.api.options import Option
from kwhatif.cli.app import commands, version_line
from kwhatif.cli.usage import UsageError

if TYPE_CHECKING:
    from kwhatif.sources.decoding.kinds import Asked

# --- kwhatif version -------------------------------------------------------------------------------------------------


def version() -> None:
    """Print the version, as --version does, and the Kubernetes releases whose rules are known."""
    from kwhatif.scheduler.release import MINORS

    typer.echo(version_line())
    typer.echo(f"Kubernetes 1.{min(MINORS)} to 1.{max(MINORS)}")


# --- kwhatif explain TERM: what a word of a report means -------------------------------------------------------------


#: The width that is easiest to read; in a narrower terminal, lines are shorter.
_MOST_COLUMNS = 100


def _complete_term(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Terms as one word of a shell, with hyphens for spaces."""
    from kwhatif.render.terms import TERMS, summary

    if ctx.params.get("words"):
        return []
    names = {name.replace(" ", "-"): term for name, term in TERMS.items()}
    start = incomplete.lower()
    found = {name: summary(term) for name, term in names.items() if name.lower().startswith(start)}
    return [
        (incomplete + name[len(start) :], text) for name, text in found.items()
    ]  # a shell distinguishes upper and lower case


def explain(
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TERM]",
            help="The word, such as nominated; none: list all.",
            autocompletion=_complete_term,
            show_default=False,
        ),
    ] = None,
) -> None:
    """What does this word of a report mean, and what can be done about it?

    \b
    Examples:
      kwhatif explain nominated
      kwhatif explain notready taint
      kwhatif explain
    """
    from kwhatif.render.terms import TERMS, find_term

    columns = min(shutil.get_terminal_size((_MOST_COLUMNS, 0)).columns, _MOST_COLUMNS)
    if not words:
        typer.echo("\n".join(_listed(columns)))
        return
    given = " ".join(words)
    name = find_term(given)
    if name is None:
        raise UsageError(_unknown(given))
    term = TERMS[name]
    said = (term.means, f"Where: {term.seen}", f"What to do: {term.then}")
    lines = [line for text in said for line in wrap(text, columns - 2, subsequent_indent="  ", break_on_hyphens=False)]
    typer.echo("\n".join([name, *(f"  {line}" for line in lines)]))


def _listed(columns: int) -> list[str]:
    """All terms, each with its first sentence."""
    from kwhatif.render.terms import TERMS, summary

    width = max(map(len, TERMS)) + 2
    return [
        line
        for name in sorted(TERMS, key=str.lower)
        for line in wrap(f"{name:{width}}{summary(TERMS[name])}", columns, subsequent_indent=" " * width)
    ]


def _unknown(given: str) -> str:
    from kwhatif.kube.matching.field_errors import did_you_mean
    from kwhatif.render.safe import safe
    from kwhatif.render.terms import like_term

    hint = did_you_mean(like_term(given), "kwhatif explain lists all terms")
    return f"there is no term {safe(given)!r} ({hint})"


def rbac(
    *,
    watch: Annotated[bool, Option("The role for the commands watch and serve, with the verb watch.")] = False,
    workload_kinds: Annotated[
        str | None,
        Option("Also for the custom kinds of this file.", metavar="FILE"),
    ] = None,
) -> None:
    """Print the smallest ClusterRole with which a live cluster can be read.

    \b
    Examples:
      kwhatif rbac | kubectl apply -f -
      kwhatif rbac --watch | kubectl apply -f -
      kubectl create clusterrolebinding kwhatif --clusterrole=kwhatif --user=ann
    """
    from kwhatif.api.sessions import known_kinds

    typer.echo(cluster_role(known_kinds(workload_kinds).lists(), watch=watch), nl=False)


# --- kwhatif completion SHELL ----------------------------------------------------------------------------------------


#: Cobra's `ShellCompDirective`: whether the shell itself completes names of files.
_DEFAULT, _NO_FILES = 0, 4


def complete_for_kubectl() -> None:
    """Print the candidates for the words in `sys.argv`."""
    print("\n".join(completed(sys.argv[1:])))  # noqa: T201 - the shell reads it


def completed(words: list[str]) -> list[str]:
    """A line for each candidate for the last word, and the last line for kubectl: whether files are candidates, too."""
    from typer._click.shell_completion import CompletionItem, ShellComplete

    class Kubectl(ShellComplete):
        """A shell's completion, of which only the candidates are used."""

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


#: Shells that can complete.
Shell = Literal["bash", "zsh", "fish", "powershell"]


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that the script is for.")]) -> None:
    """Print the script with which your shell completes commands, options, values and files.

    \b
    Examples:
      source <(kwhatif completion bash)
      kwhatif completion zsh > "${fpath[1]}/_kwhatif"
      kwhatif completion fish > ~/.config/fish/completions/kwhatif.fish
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="kwhatif", complete_var="_KWHATIF_COMPLETE", shell=shell))


def cluster_role(lists: Iterable[Asked], *, watch: bool) -> str:
    """The role as YAML: `list` (and `watch`) for the resources that are read, `get` for the version, nothing else."""
    verbs = "list, watch" if watch else "list"
    groups: dict[str, dict[str, None]] = {}
    for asked in lists:
        groups.setdefault(asked.group, {})[asked.plural] = None
    lines = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata:",
        "  name: kwhatif",
        "rules:",
    ]
    for group, plurals in groups.items():
        lines += [f'- apiGroups: ["{group}"]', f"  resources: [{', '.join(plurals)}]", f"  verbs: [{verbs}]"]
    lines += ["- nonResourceURLs: [/version]", "  verbs: [get]"]
    return "\n".join(lines) + "\n"
