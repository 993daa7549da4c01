"""The questions as tools of the Model Context Protocol; their arguments are derived from the commands' options.

So nothing is declared twice. A tool has no options about the cluster and the scheduler (both are fixed when the server
starts), about processes for many scenarios, or about how an answer is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperOption

from kwhatif.api.options import SCENARIOS, SCHEDULER
from kwhatif.cli.answers import Asking
from kwhatif.cli.usage import CLUSTER, OTHER
from kwhatif.sources.manifests.given import text
from kwhatif.sources.text.files import texts_only

#: Options of commands that are questions: edits of the cluster, and the format of the answer.
_OF_QUESTIONS = frozenset({"if_", "output"})
#: Groups of options that tools do not have.
_SETTLED = frozenset({CLUSTER, SCHEDULER, SCENARIOS, OTHER})
#: Options about how an answer is printed, and a second name for manifests.
_OF_PRINTING = frozenset({"output", "fail_on", "color", "quiet", "report", "for_", "filename"})
#: The placeholders of options that take a file, and of those that also take an object of the cluster.
_FILE, _MANIFEST = "FILE", "MANIFEST"
_TEXT = "YAML or JSON text"
#: Text that only suits a command line -> the text for a tool.
_OTHERWISE = (
    ("Files, directories, globs, - for standard input, or objects", f"Manifests as {_TEXT}, or names of objects"),
    ("files, or workloads", f"manifests as {_TEXT}, or workloads"),
    ("; 2*FILE: two", ""),
    (", or -", ""),
    ("The same from a YAML list; made before those of --if.", "The same as YAML lists; made before those of if."),
    (", or a file: kubectl top pods --containers, CSV, PodMetrics; of Prometheus cpu=FILE, memory=FILE.", "."),
    (" Repeatable, in order.", " Made in order."),
    (" Repeatable.", ""),
)
#: Text in YAML or JSON: it has a key, or a line break. Names of objects have neither.
_IS_TEXT = re.compile(r"[{\n]|:(\s|$)")


@dataclass(frozen=True)
class Tool:
    """One question."""

    name: str
    command: Any
    description: str
    #: JSON Schema of its arguments.
    schema: Mapping[str, Any]

    def ask(self, asking: Asking, given: Mapping[str, Any], own: Mapping[str, str] | None = None) -> None:
        """Run the question with these arguments about the cluster of `asking`, which then has the answer.

        `own`: texts for options that are not given. No file is ever read.

        Raises:
            Exception: whatever the command raises; UsageError if the arguments are wrong.
        """
        params = {_name(param): param for param in self.command.params if _is_offered(param, self.name)}
        words = list(_words(params, given))
        with texts_only(), self.command.make_context(self.name, words) as ctx:
            for name, param in params.items():
                value = given.get(name, (own or {}).get(name))
                if _word(param) in (_FILE, _MANIFEST) and value:
                    ctx.params[param.name] = _texts(param, name, value)
            asking.of(lambda: self.command.invoke(ctx))


def tools(commands: Mapping[str, Any]) -> Mapping[str, Tool]:
    """The commands that are questions, by name."""
    found = {}
    for name, command in commands.items():
        params = getattr(command, "params", ())
        if _OF_QUESTIONS.issubset(param.name for param in params):
            tool = name.replace("-", "_")
            found[tool] = Tool(tool, command, _description(command.help), _schema(command, tool))
    return found


def _description(said: str) -> str:
    """The help text without its examples, which are command lines."""
    return " ".join(said.partition("\b\n")[0].split())


def _is_offered(param: Any, tool: str) -> bool:
    if param.name in _OF_PRINTING or (tool, param.name) == ("gate", "fixes"):  # only pages draw fixes
        return False
    return getattr(param, "rich_help_panel", None) not in _SETTLED


def _name(param: Any) -> str:
    """`add_nodes_like` of `--add-nodes-like`."""
    longest: str = max(param.opts, key=len)
    return longest.lstrip("-").replace("-", "_")


def _word(param: Any) -> str:
    """The placeholder of an option: `MANIFEST`, `DURATION`."""
    return (param.metavar or "").strip("[].")


# --- the schema of arguments -----------------------------------------------------------------------------------------


def _schema(command: Any, tool: str) -> Mapping[str, Any]:
    params = [param for param in command.params if _is_offered(param, tool)]
    made: dict[str, Any] = {
        "type": "object",
        "properties": {_name(param): _property(param) for param in params},
        "additionalProperties": False,
    }
    required = [_name(param) for param in params if param.required]
    return {**made, "required": required} if required else made


def _property(param: Any) -> dict[str, Any]:
    one = _type(param)
    made: dict[str, Any] = {"type": "array", "items": one} if _is_list(param) else dict(one)
    made["description"] = _said(param)
    default = getattr(param.default, "value", param.default)
    if default not in (None, "", False) and not param.required:
        made["default"] = default
    return made


def _is_list(param: Any) -> bool:
    return bool(param.nargs == -1 or getattr(param, "multiple", False))


def _type(param: Any) -> Mapping[str, Any]:
    kind = param.type
    if getattr(param, "is_flag", False):
        return {"type": "boolean"}
    if kind.name == "choice":
        return {"type": "string", "enum": [getattr(each, "value", each) for each in kind.choices]}
    if not kind.name.startswith("int"):  # "integer range" in Click, "int range" in Typer
        return {"type": "string"}
    bounds = {"minimum": getattr(kind, "min", None), "maximum": getattr(kind, "max", None)}
    return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}}


def _said(param: Any) -> str:
    """The help text of an argument; it takes a text instead of a file."""
    said = param.help or ""
    for typed, given in _OTHERWISE:
        said = said.replace(typed, given)
    word = _word(param)
    if word == _MANIFEST and _TEXT not in said:
        return f"Manifests as {_TEXT}, or names of objects of the cluster. {said}"
    if word == _FILE:
        return f"{said} As {_TEXT}."
    is_said = not word or word in said or param.type.name == "choice"
    return said if is_said else f"{said} ({word})"


# --- the values of arguments -----------------------------------------------------------------------------------------


def _words(params: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """The arguments as on a command line; options first, so that no argument is mistaken for one.

    Raises:
        UsageError: there is no such argument, or a value has another type.
    """
    unknown = sorted(given.keys() - params.keys())
    if unknown:
        raise typer.BadParameter(f"there is no {unknown[0]!r}; there are {', '.join(params)}", param_hint="arguments")
    for name, param in params.items():
        if given.get(name) is not None and isinstance(param, TyperOption):
            values = _values(name, given[name], _property(param))
            option = max(param.opts, key=len)
            yield from (option if each is True else f"{option}={_shown(param, each)}" for each in values)
    yield "--"
    for name, param in params.items():
        if given.get(name) is not None and not isinstance(param, TyperOption):
            yield from (_shown(param, each) for each in _values(name, given[name], _property(param)))


_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}


def _values(name: str, value: Any, schema: Mapping[str, Any]) -> Sequence[Any]:
    """The value, or each of several values; none for a switch that is off."""
    is_list = schema["type"] == "array"
    entry = schema["items"] if is_list else schema
    values = list(value) if is_list and isinstance(value, (list, tuple)) else [value]
    for each in values:
        wrong = not isinstance(each, _TYPES[entry["type"]]) or (isinstance(each, bool) and entry["type"] != "boolean")
        if wrong or (is_list and values == [value]):
            meant = f"a list, and each of it {_article(entry['type'])}" if is_list else _article(schema["type"])
            raise typer.BadParameter(f"it is {meant}, not {type(value).__name__}", param_hint=name)
    return [each for each in values if each is not False]


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _shown(param: Any, value: Any) -> str:
    """The value; a text is replaced by a name, and is filled in later."""
    return "text" if _word(param) in (_FILE, _MANIFEST) else str(value)


def _texts(param: Any, name: str, value: Any) -> Any:
    """The texts under the names that errors use; any other value is the name of an object."""
    name = _MANIFEST.lower() if _word(param) == _MANIFEST else name

    def as_text(each: str, called: str) -> str:
        return text(each, called) if _IS_TEXT.search(each) else each

    if not _is_list(param):
        return as_text(value, name)
    return [as_text(each, f"{name} {number}") for number, each in enumerate(value, 1)]
