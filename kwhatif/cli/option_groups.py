"""Groups of options: each is declared once, and a command takes it as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import typer

from kwhatif.api.options import Option, OptionError
from kwhatif.cli.cluster_options import complete_version


def _complete_gate(ctx: typer.Context, incomplete: str) -> list[str]:
    """The feature gates of the release that are not locked."""
    from kwhatif.sources.scheduler.release import completed_gates

    return completed_gates(ctx.params.get("kubernetes_version"), incomplete)


#: Fields whose values can be completed.
_COMPLETIONS: dict[str, Callable[..., list[str]]] = {
    "kubernetes_version": complete_version,
    "feature_gates": _complete_gate,
}


class Without:
    """Metadata of a group that a command takes without some of its options: these keep their defaults."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)


def _group_of(annotation: Any) -> tuple[Any, frozenset[str]]:
    """The group, and the names of its options that the command does not have."""
    left_out = next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Without)), None)
    return (annotation, frozenset()) if left_out is None else (annotation.__origin__, left_out.names)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its groups of options expanded: each group is one parameter of the function.

    The type of such a parameter is a dataclass, whose fields are options or other groups; or a TypedDict of options
    that the library also has (`api/options.py`). `Annotated[group, Without(...)]` leaves some of them out. A command
    that reads a cluster has either a `SchedulerSource` under the name `cluster`, or a `ClusterSource` under the name
    `where`.
    """
    own = inspect.signature(command, eval_str=True)
    # If an option is declared twice, the command's or the later group's help is used.
    parameters = list({parameter.name: parameter for parameter in _spread(own)}.values())

    @wraps(command)
    def run(**values: Any) -> None:
        try:
            arguments = _gathered(own, values)
            where = arguments["cluster"].where if "cluster" in arguments else arguments.get("where")
            with nullcontext() if where is None else where.stages:
                command(**arguments)
        except OptionError as wrong:
            raise typer.BadParameter(wrong.message, param_hint=wrong.option) from wrong

    # Keywords only: options with defaults may then precede those without.
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = own.replace(parameters=keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _spread(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters, with groups expanded."""
    for parameter in signature.parameters.values():
        group, left_out = _group_of(parameter.annotation)
        if is_typeddict(group):
            for name, annotation in get_type_hints(group, include_extras=True).items():
                option: Option = annotation.__metadata__[0]
                yield _option(name, annotation, None if option.repeatable else option.default)
        elif _is_group(group):
            every = _spread(inspect.signature(group, eval_str=True))
            yield from (each for each in every if each.name not in left_out)
        elif isinstance(next(iter(getattr(parameter.annotation, "__metadata__", ())), None), Option):
            yield _option(parameter.name, parameter.annotation, parameter.default)
        else:
            yield parameter


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """The option as Typer takes it."""
    option: Option = annotation.__metadata__[0]
    flag = f"--{option.name or name.strip('_').replace('_', '-')}"
    made = typer.Option(
        flag,
        *filter(None, [option.short]),
        help=option.help,
        metavar=option.metavar or None,
        min=option.min,
        max=option.max,
        rich_help_panel=option.group or None,
        callback=_checking(flag, option.check) if option.check else None,
        autocompletion=option.complete or _COMPLETIONS.get(name),
    )
    type_ = list[str] | None if option.repeatable else _type(annotation.__origin__, is_optional=default is None)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, made])


def _type(declared: Any, *, is_optional: bool) -> Any:
    """The type of an option's value on the command line: a choice, texts, a switch, a number, else a text."""
    kinds = get_args(declared) if isinstance(declared, UnionType) or get_origin(declared) is Union else (declared,)
    kind = next((each for each in kinds if each in (bool, int) or get_origin(each) in (Literal, list)), str)
    return kind | None if is_optional else kind


def _checking(flag: str, check: str | Callable[[Any], object]) -> Callable[[Any], Any]:
    """A check of the option's value; a function that is only named is only imported if there is a value."""

    def checked(value: Any) -> Any:
        try:
            if value:
                _named(check)(value)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), param_hint=flag) from wrong
        return value

    return checked


def _named(function: str | Callable[[Any], object]) -> Callable[[Any], object]:
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Callable[[Any], object] = getattr(import_module(module), name)
    return found


def _given(annotation: Any, value: Any) -> Any:
    """The field's value: a switch can turn it off, and a list without values is empty."""
    option: Option = annotation.__metadata__[0]
    if option.repeatable:
        return ",".join(value or ()) if option.joined else value or ()
    return not value if option.negated else value


def _gathered(signature: inspect.Signature, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments for a function of that signature, with options put back into groups."""
    arguments = {}
    for name, parameter in signature.parameters.items():
        group, left_out = _group_of(parameter.annotation)
        if is_typeddict(group):
            declared = get_type_hints(group, include_extras=True).items()
            arguments[name] = {
                each: _given(annotation, values[each]) for each, annotation in declared if each in values
            }
        elif _is_group(group):
            own = {each: value for each, value in values.items() if each not in left_out}
            arguments[name] = group(**_gathered(inspect.signature(group, eval_str=True), own))
        elif name in values:
            arguments[name] = values[name]
    return arguments
