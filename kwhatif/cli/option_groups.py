"""Groups of options: each is declared once, and a command takes it as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import wraps
from typing import Any

from kwhatif.cli.cluster import ClusterSource, SchedulerSource
from kwhatif.cli.cluster_options import source_of, where_of

#: Type of a group that is not a dataclass -> what makes it from its options.
_MAKERS: dict[Any, Callable[..., Any]] = {SchedulerSource: source_of, ClusterSource: where_of}


def _maker_of(group: Any) -> Callable[..., Any] | None:
    """What makes a value of this type from options of its own; None: it is that of one option."""
    if isinstance(group, type) and is_dataclass(group):
        return group
    return _MAKERS.get(group)


def reads_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with several options in the place of each parameter that stands for them.

    Such a parameter's type is `SchedulerSource` or `ClusterSource`, of which a command has one under the name `cluster`
    or `where`, or a dataclass, of whose fields each is an option.
    """
    own = inspect.signature(command, eval_str=True)
    parameters = list(_spread(own))

    @wraps(command)
    def run(**values: Any) -> None:
        arguments = _gathered(own, values)
        where = arguments["where"] if "where" in arguments else arguments["cluster"].where
        with where.stages:
            command(**arguments)

    # Keywords only: options with defaults may then stand before those without.
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = own.replace(parameters=keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _spread(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters, with those of its group in the place of each that stands for one."""
    for parameter in signature.parameters.values():
        make = _maker_of(parameter.annotation)
        if make is None:
            yield parameter
        else:
            yield from _spread(inspect.signature(make, eval_str=True))


def _gathered(signature: inspect.Signature, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments for a function of that signature, groups made of their options."""
    arguments = {}
    for name, parameter in signature.parameters.items():
        make = _maker_of(parameter.annotation)
        if make is None:
            arguments[name] = values[name]
        else:
            arguments[name] = make(**_gathered(inspect.signature(make, eval_str=True), values))
    return arguments
