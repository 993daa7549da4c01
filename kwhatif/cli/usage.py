"""Help texts with options in groups, and suggestions where an option is wrong."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from kwhatif.api.options import KUBECTL, SCENARIOS, SCHEDULER

if TYPE_CHECKING:
    from kwhatif.questions.session.session import Session

#: The groups after the one without a name, in this order.
CLUSTER = "Cluster"
EDITS = "What if"
AUTOSCALER = "Autoscaler"
OTHER = "Other"
_GROUPS = ("Options", KUBECTL, SCENARIOS, EDITS, CLUSTER, SCHEDULER, AUTOSCALER, OTHER)
#: The options that are used most, first in their group.
_FIRST = ("--output", "--namespace")
#: How many columns a description has at the least, and how wide the names beside it are if there is less room.
_LEAST_TEXT, _NARROW = 36, 20
#: Usage errors of the Click that Typer contains: only a subclass of it has a public name.
UsageError: Any = typer.BadParameter.__bases__[0]


class ClosedPipeError(Exception):
    """The reader of the output has ended.

    Typer would turn a BrokenPipeError into exit code 1, which would mean "no".
    """


class Command(TyperCommand):
    """A command whose help lists options by group, and whose first sentence is never cut."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and say more about an unknown option than Click does."""
        with _unknown_options(ctx, args):
            return super().parse_args(ctx, args)

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002 - Typer calls it
        """The first sentence, not cut: lines are folded when it is printed."""
        return _first_sentence(self.help)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line, with required arguments without the braces that Click puts around them."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Arguments, then options by group: how each is written, and what it means."""
        params: list[Any] = list(self.get_params(ctx))
        members = {"Arguments": [param for param in params if param.param_type_name == "argument"]}
        for group in _GROUPS:
            options = [param for param in params if isinstance(param, TyperOption) and _group_of(param) == group]
            members[group] = sorted(options, key=_rank)
        return {title: [_record(param, ctx) for param in found] for title, found in members.items() if found}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by group, all descriptions in one column; in a narrow terminal below long names."""
        sections = self.sections(ctx)
        width = max(len(names) for rows in sections.values() for names, _ in rows)
        if formatter.width - width < _LEAST_TEXT:
            width = _NARROW
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl([(names.ljust(width), text) for names, text in rows], col_max=width)


class CommandGroup(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and say more about an unknown option than Click does."""
        with _unknown_options(ctx, args):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and suggest one for commands that other tools have."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError as wrong:
            instead = _COMMANDS_OF_OTHERS.get(args[0] if args else "")
            if instead is None:
                raise
            raise UsageError(f"No such command {args[0]!r}: {instead}.", ctx=ctx) from wrong

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002 - Typer calls it
        """The first sentence, not cut: lines are folded when it is printed."""
        return _first_sentence(self.help)


class Root(CommandGroup):
    """The whole command line."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer calls it
        """The names of the commands."""
        return list(self.commands)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse, and print help if asked for; a reader that closes the pipe early is not an error."""
        with _pipe_may_close():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a reader that closes the pipe early is not an error."""
        with _pipe_may_close():
            return super().invoke(ctx)


@contextmanager
def _pipe_may_close() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as closed:
        raise ClosedPipeError from closed


def _record(param: Any, ctx: Any) -> tuple[str, str]:
    """The line of an argument or option; the bounds of a number in words."""
    names, text = param.get_help_record(ctx)
    return names, bounds_in_words(text)


def bounds_in_words(text: str) -> str:
    """A help text or an error of Click, in which `1<=x<=100` is `1 to 100`."""
    for pattern, words in _OF_CLICK.items():
        text = pattern.sub(words, text)
    return text


#: What Click prints about numbers, and what is printed instead.
_OF_CLICK = {
    re.compile(r"is not in the range x>=(\d+)"): r"is less than \1",
    re.compile(r"\bx>=(\d+)"): r"\1 or more",
    re.compile(r"\b(\d+)<=x<=(\d+)"): r"\1 to \2",
    re.compile(r"is not a valid (int range|integer range|int|integer)\b"): "is not a whole number",
}


def _group_of(option: TyperOption) -> str:
    if option.name == "help":
        return OTHER
    return option.rich_help_panel or _GROUPS[0]


def _rank(option: TyperOption) -> int:
    """Sort key of options; otherwise they keep their order."""
    return next((rank for rank, name in enumerate(_FIRST) if name in option.opts), len(_FIRST))


def _first_sentence(text: str | None) -> str:
    return (text or "").strip().partition("\n\n")[0].replace("\n", " ")


@contextmanager
def _unknown_options(ctx: Any, args: Sequence[str]) -> Iterator[None]:
    given = list(args)  # Click removes them one by one while a line is being completed
    if not ctx.resilient_parsing:  # a line that is being completed is not complete yet
        _check_attached(ctx, given)
        _check_values(ctx, given)
    try:
        yield
    except UsageError as wrong:
        unknown = getattr(wrong, "option_name", None)
        if unknown is None or not hasattr(wrong, "possibilities"):
            raise
        file = next((name for name in given if name.startswith(unknown) and os.path.lexists(name)), None)
        about = _about_unknown(ctx, str(unknown)) if file is None else f"For the file {file} write ./{file}."
        raise UsageError(about, ctx=ctx) from wrong


def _check_attached(ctx: Any, args: Sequence[str]) -> None:
    """Refuse `-f.yaml` if a file of that name is meant: `-f` would look for the file `.yaml`."""
    options = [param for param in ctx.command.params if isinstance(param, TyperOption) and not param.is_flag]
    names = {name for option in options for name in option.opts}
    for before, word in zip(("", *args), args, strict=False):
        if word == "--":
            return
        value = word.removeprefix("-f")
        if "-f" not in names or value == word or before in names or os.path.lexists(value):
            continue
        if os.path.lexists(word) or _ENDING.fullmatch(value):
            message = f"{word} means -f with the file {value}, which is not there. For the file {word} write ./{word}."
            raise UsageError(message, ctx=ctx)


def _check_values(ctx: Any, args: Sequence[str]) -> None:
    """Refuse an option without its value: Click would take the next option as the value."""
    params = [param for param in ctx.command.params if isinstance(param, TyperOption)]
    takers = {name: param for param in params if not param.is_flag for name in param.opts}
    names = {name for param in params for name in (*param.opts, *param.secondary_opts)}
    words = iter(args)
    for word in words:
        if word == "--":
            return
        if word not in takers:
            continue
        value = next(words, None)
        if value is None or value.partition("=")[0] in names:
            param = takers[word]
            found = "" if value is None else f", but {value} comes next"
            text = (param.help or "").partition(".  [")[0].removesuffix(".")
            raise UsageError(f"{word} needs a value{found}: {word} {param.metavar} ({text})", ctx=ctx)


#: Only the extension of a file name: `.yaml`, `.tar.gz`.
_ENDING = re.compile(r"(\.[a-z0-9]+)+")


#: Commands of other tools, and what to write here instead.
_COMMANDS_OF_OTHERS = {
    "diff": "kwhatif compare OLD NEW says what differs between two dumps, kwhatif gate what a manifest changes",
    "apply": "nothing is ever applied: kwhatif gate says what would become of a manifest",
}


#: Options of kubectl, and what to write here instead.
_OF_KUBECTL = {
    "-k": "build it first: kubectl kustomize DIR | {command} -",
    "-A": "all namespaces are read in any case; -n is the namespace of objects that name none",
    "--dry-run": "nothing is ever applied: leave it out",
    "--cluster": "a cluster is named by its context in the kubeconfig: --context NAME",
    "--json": "write -o json",
    "--yaml": "write -o yaml",
}
_OF_KUBECTL |= {"--kustomize": _OF_KUBECTL["-k"], "--all-namespaces": _OF_KUBECTL["-A"]}
_OF_KUBECTL |= dict.fromkeys(("--user", "--server", "-s", "--token"), _OF_KUBECTL["--cluster"])


#: How similar an option must be to be suggested (of names without dashes): one of the command itself, and of another
#: command.
_LIKE, _MUCH_LIKE = 0.6, 0.75


def _about_unknown(ctx: Any, unknown: str) -> str:
    if unknown in _OF_KUBECTL and ctx.parent is not None:
        return f"No such option: {unknown}: {_OF_KUBECTL[unknown].format(command=ctx.command_path)}."
    here = _options_of(ctx.command)
    others = {name: _options_of(command) for name, command in all_commands(ctx.find_root().command)}
    owners = [name for name, options in others.items() if unknown in options]
    if owners and ctx.parent is None:
        return f"{unknown} is an option of {', '.join(owners)}: put it after the command."
    if owners:
        return f"{unknown} is an option of {', '.join(owners)}, not of {ctx.command.name}."
    message = f"No such option: {unknown}."
    elsewhere = sorted({name for options in others.values() for name in options})
    near = _most_similar(unknown, here, _MUCH_LIKE) or _most_similar(unknown, elsewhere, _MUCH_LIKE)
    near = near or _most_similar(unknown, here, _LIKE)
    if near is None:
        return message
    owners = [name for name, options in others.items() if near in options]
    where = "" if near in here else f", an option of {', '.join(owners)}"
    return f"{message} Did you mean {near}{where}?"


def _most_similar(unknown: str, names: Iterable[str], least: float) -> str | None:
    """The most similar name, compared without dashes: all begin with these."""
    by_word = {name.lstrip("-"): name for name in names}
    near = get_close_matches(unknown.lstrip("-"), by_word, 1, least)
    return by_word[near[0]] if near else None


def _options_of(command: Any) -> list[str]:
    return [name for param in command.params if isinstance(param, TyperOption) for name in param.opts]


def all_commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands with their names, such as `snapshot save`."""
    for name, child in getattr(command, "commands", {}).items():
        if isinstance(child, TyperGroup):
            yield from all_commands(child, f"{path}{name} ")
        else:
            yield f"{path}{name}", child


#: A node in YAML or JSON, also as an entry of a list.
_NODE = re.compile(rb'"?kind"?[ \t]*:[ \t]*"?Node"?[ \t]*[,}\r\n]')


def check_not_swapped(dumps: Sequence[str], manifests: Sequence[str], session: Session) -> None:
    """Refuse a dump without nodes and running pods, together with manifests that have nodes: they are swapped.

    Raises:
        UsageError: they are swapped.
    """
    state = session.state
    if state.nodes or len(state.pods) > len(state.pending):
        return
    from kwhatif.sources.text.files import find_inputs, read_inputs
    from kwhatif.sources.text.problems import Problems

    readable = [path for path in manifests if path != "-"]
    inputs = find_inputs(readable, io.BytesIO(), Problems())
    if any(_NODE.search(text) for _, text in read_inputs(inputs, Problems())):
        cluster = " ".join(f"--from {path}" for path in readable)
        raise UsageError(
            f"{', '.join(dumps)} holds no node, but {', '.join(readable)} does: are the two swapped?"
            f" Manifests are arguments, and --from names the cluster: {' '.join(dumps)} {cluster}"
        )
