"""Options that are declared once say the same to the library, the command line and the simulation."""

from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from typer.core import TyperOption
from typer.main import get_command

import kwhatif
from kwhatif.api.options import DrainFlags, Option, OptionError, OutageFlags, Times
from kwhatif.api.simulate import seconds_of
from kwhatif.cli.app import app
from kwhatif.cli.usage import _GROUPS
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import ExitCode
from kwhatif.simulation.parameters import Parameters
from tests.cli.running import run


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


DUMP, POD = "fixtures/demo/cluster.yaml", "fixtures/demo/pods/small.yaml"
#: A command line that is refused, and the call of the library that is refused with it.
REFUSED: dict[str, Callable[[kwhatif.Session], object]] = {
    f"capacity {POD} --add-nodes-like a": lambda it: kwhatif.capacity(it, POD, add_nodes_like="a"),
    f"capacity {POD} --add-nodes-like a --target 10001": lambda it: kwhatif.capacity(
        it, POD, add_nodes_like="a", target=10_001
    ),
    "deschedule": kwhatif.deschedule,
    "autoscale --autoscaler karpenter --node-groups x": lambda it: kwhatif.autoscale(
        it, autoscaler="karpenter", node_groups="x"
    ),
    f"schedule {POD} --autoscaler auto --alone": lambda it: kwhatif.schedule(
        kwhatif.with_autoscaler(it), POD, alone=True
    ),
    f"gate {POD} --autoscaler auto --rollout final": lambda it: kwhatif.gate(
        kwhatif.with_autoscaler(it), POD, rollout="final"
    ),
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_the_library_refuses_the_command_refuses_in_the_same_words(line: str) -> None:
    with pytest.raises(OptionError) as refused:
        REFUSED[line](kwhatif.load(DUMP))
    ran = run(f"kwhatif {line} --from not-there.yaml")
    assert ran.code == ExitCode.USAGE, "before anything is read"
    assert ran.stderr.endswith(f"Invalid value for {refused.value}\n")
