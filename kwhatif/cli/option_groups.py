"""Groups of options: each is declared once, and a command takes it as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, get_type_hints, is_typeddict

import typer

from kwhatif.api.options import Option
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


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its groups of options expanded: each group is one parameter of the function.

    The type of such a parameter is a dataclass, whose fields are options or other groups; or a TypedDict of options
    that the library also has (`api/options.py`). A command that reads a cluster has either a `SchedulerSource` under
    the name `cluster`, or a `ClusterSource` under the name `where`.
    """
    own = inspect.signature(command, eval_str=True)
    # If an option is declared twice, the command's or the later group's help is used.
    parameters = list({parameter.name: parameter for parameter in _spread(own)}.values())

    @wraps(command)
    def run(**values: Any) -> None:
        arguments = _gathered(own, values)
        where = arguments["cluster"].where if "cluster" in arguments else arguments.get("where")
        with nullcontext() if where is None else where.stages:
            command(**arguments)

    # Keywords only: options with defaults may then precede those without.
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = own.replace(parameters=keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _spread(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters, with groups expanded."""
    for parameter in signature.parameters.values():
        group = parameter.annotation
        if is_typeddict(group):
            yield from map(_parameter, get_type_hints(group, include_extras=True).items())
        elif _is_group(group):
            yield from _spread(inspect.signature(group, eval_str=True))
        else:
            yield parameter


def _parameter(declared: tuple[str, Any]) -> inspect.Parameter:
    name, annotation = declared
    option: Option = annotation.__metadata__[0]
    made = typer.Option(
        f"--{option.name or name.replace('_', '-')}",
        *filter(None, [option.short]),
        help=option.help,
        metavar=option.metavar or None,
        min=option.min,
        rich_help_panel=option.group or None,
        callback=_checking(option.check) if option.check else None,
        autocompletion=_COMPLETIONS.get(name),
    )
    default = None if option.repeatable else option.default
    type_ = list[str] | None if option.repeatable else str | None if default is None else type(default)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, made])


def _checking(check: str) -> Callable[[Any], Any]:
    """A check of a value by the function `check`, which is only imported if there is a value."""
    module, _, function = check.partition(":")

    def checked(value: Any) -> Any:
        try:
            if value:
                getattr(import_module(module), function)(value)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong)) from wrong
        return value

    return checked


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
        group = parameter.annotation
        if is_typeddict(group):
            declared = get_type_hints(group, include_extras=True)
            arguments[name] = {each: _given(annotation, values[each]) for each, annotation in declared.items()}
        elif _is_group(group):
            arguments[name] = group(**_gathered(inspect.signature(group, eval_str=True), values))
        else:
            arguments[name] = values[name]
    return arguments
