"""Options that are declared once say the same to the library, the command line and the simulation."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from typer.core import TyperOption
from typer.main import get_command

from kwhatif.api.options import DrainFlags, Option, OutageFlags, Times
from kwhatif.api.simulate import seconds_of
from kwhatif.cli.app import app
from kwhatif.cli.usage import _GROUPS
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.simulation.parameters import Parameters


def defaults(declared: type) -> dict[str, Any]:
    """What the command line takes where nothing is said."""
    hints = get_type_hints(declared, include_extras=True)
    return {name: option.default for name, hint in hints.items() if isinstance(option := hint.__metadata__[0], Option)}


def test_a_drain_without_flags_is_the_same_drain_everywhere() -> None:
    given = defaults(DrainFlags)
    assert given.pop("order") is False
    assert DrainOptions(**given | {"timeout": seconds_of("timeout", given["timeout"])}) == DrainOptions()


@pytest.mark.parametrize("name", [*Times.__annotations__, "node_monitor_grace_period"])
def test_durations_are_those_of_the_simulation(name: str) -> None:
    given = defaults(Times) | defaults(OutageFlags)
    assert seconds_of(name, given[name]) == getattr(Parameters(), name)


def test_every_option_is_in_a_group_that_help_lists() -> None:
    commands = getattr(get_command(app), "commands", {}).values()
    options = [each for command in commands for each in command.params if isinstance(each, TyperOption)]
    assert {"jobs", "dask", "resume"} <= {each.name for each in options}
    assert {each.rich_help_panel for each in options} - {None, *_GROUPS} == set()
