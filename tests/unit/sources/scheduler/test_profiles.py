"""Plugins of your own, and the configuration of a scheduler: how they are found and read."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import msgspec
import pytest

from kwhatif.errors import InputError, PluginFailed, Problem
from kwhatif.render.caveats import sentences
from kwhatif.scheduler.catalog import ENTRIES, Entry
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.profile import Point
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from kwhatif.scheduler.preemption.guard import GuardedPolicy, GuardedPreemption
from kwhatif.scheduler.release import find_release
from kwhatif.sources.decoding import config_file
from kwhatif.sources.decoding.config_file import read_config
from kwhatif.sources.scheduler.profiles import PluginSource, load_plugins, read_scheduler_config
from kwhatif.sources.text.yaml_text import line_tree, repeated_keys


def load(*sources: PluginSource, config: Any = None) -> tuple[dict[str, Entry], list[str]]:
    entries, enabled = load_plugins(ENTRIES, sources, config or {})
    assert entries[: len(ENTRIES)] == list(ENTRIES)
    return {entry.name: entry for entry in entries[len(ENTRIES) :]}, enabled


def problems(*sources: PluginSource, config: Any = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_plugins(ENTRIES, sources, config or {})
    return [str(problem) for problem in caught.value.problems]


class Own:
    name: ClassVar[str] = "Own"

    def pre_filter(self, pod: object, snapshot: object) -> None: ...


class Everything:
    name: ClassVar[str] = "Everything"
    weight: ClassVar[int] = 7

    class Args(msgspec.Struct):
        size: int = 3

    def __init__(self, args: Args) -> None:
        if args.size > 5:
            raise ValueError("too large")
        self.args = args

    def pre_enqueue(self, pod: object, snapshot: object) -> None: ...
    def pre_filter(self, pod: object, snapshot: object) -> None: ...
    def pre_score(self, pod: object, snapshot: object, nodes: object) -> None: ...
    def post_filter(self, cycle: object) -> None: ...


def test_extension_points_follow_from_the_methods() -> None:
    entries, enabled = load(Own, Everything)
    assert enabled == ["Own", "Everything"]
    assert entries["Own"].points == (Point.PRE_FILTER, Point.FILTER)
    everything = entries["Everything"]
    assert everything.points == (
        Point.PRE_ENQUEUE,
        Point.PRE_FILTER,
        Point.FILTER,
        Point.PRE_SCORE,
        Point.SCORE,
        Point.POST_FILTER,
    )
    assert (everything.weight, everything.args, everything.default) == (7, Everything.Args, False)


def test_it_is_made_with_its_arguments_and_put_behind_a_guard() -> None:
    entry = load(Everything)[0]["Everything"]
    assert entry.factory is not None
    made = entry.factory(Everything.Args(5))
    assert isinstance(made, GuardedPlugin)
    assert isinstance(made._inner, Everything)
    assert made._inner.args.size == 5
    with pytest.raises(PluginFailed, match="plugin Everything cannot be made: ValueError: too large"):
        entry.factory(Everything.Args(6))


def test_a_preemption_takes_the_arguments_of_the_one_it_inherits_from_and_its_policy_is_guarded() -> None:
    class Mine(DefaultPreemption):
        name: ClassVar[str] = "Mine"
        replaces: ClassVar[str] = "DefaultPreemption"

    entry = load(Mine)[0]["Mine"]
    assert (entry.args, entry.replaces) == (DefaultPreemptionArgs, "DefaultPreemption")
    assert entry.factory is not None
    made = entry.factory(DefaultPreemptionArgs(min_candidate_nodes_absolute=4))
    assert isinstance(made, GuardedPreemption)
    assert isinstance(made._inner, Mine)
    assert isinstance(made.policy, GuardedPolicy)
    assert not isinstance(DefaultPreemption.policy, GuardedPolicy)


def make_class(**attributes: Any) -> type:
    return type("Bad", (Own,), attributes)


BAD_CLASSES: dict[str, tuple[Any, str]] = {
    "no name": (type("Bad", (), {"pre_filter": None}), "plugin Bad: the class has no `name`, a string"),
    "a name that is no text": (make_class(name=3), "plugin Bad: the class has no `name`, a string"),
    "no methods": (
        type("Bad", (), {"name": "Bad"}),
        "plugin Bad: the class has none of the methods pre_enqueue, pre_filter, pre_score, post_filter",
    ),
    "the name of a built-in plugin": (
        make_class(name="NodeName"),
        "plugin Bad: NodeName is the name of a built-in plugin: take another one, and `replaces` to stand in its place",
    ),
    "in the place of nobody": (
        make_class(replaces="Nobody"),
        "plugin Bad: it replaces 'Nobody', which is not a built-in plugin",
    ),
    "no weight": (make_class(weight=0), "plugin Bad: its weight is 0, not a positive whole number"),
    "arguments of no type": (make_class(Args=dict), "plugin Bad: its Args is not a msgspec.Struct"),
}


@pytest.mark.parametrize(("plugin", "problem"), BAD_CLASSES.values(), ids=BAD_CLASSES.keys())
def test_classes_that_are_no_plugins(plugin: type, problem: str) -> None:
    assert problems(plugin) == [problem]


def test_two_of_one_name_and_two_in_one_place() -> None:
    first, second = (make_class(name=name, replaces="NodePorts") for name in ("A", "B"))
    assert problems(Own, Own) == ["plugin Own: another plugin is named Own as well"]
    assert problems(first, second) == ["plugin Bad: another plugin replaces NodePorts as well"]


# --- by name ------------------------------------------------------------------------------------------

MODULE = """
raise_on_import = {raises!r}
if raise_on_import:
    raise RuntimeError(raise_on_import)

class Quota:
    name = "Quota"
    def pre_filter(self, pod, snapshot): ...

class Outer:
    Inner = Quota

not_a_class = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current directory, and one that cannot be imported."""
    (tmp_path / "kwhatif_test_quota.py").write_text(MODULE.format(raises=""))
    (tmp_path / "kwhatif_test_broken.py").write_text(MODULE.format(raises="no database"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("kwhatif_test_quota", "kwhatif_test_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "kwhatif_test_quota"


def install(folder: Path, entry_points: dict[str, str]) -> None:
    """What pip leaves behind of a package."""
    info = folder / "kwhatif_test_quota-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kwhatif-test-quota\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[kwhatif.scheduler.plugins]\n{lines}")


@pytest.mark.parametrize("path", ["Quota", "Outer.Inner"])
def test_module_and_class(module: str, path: str) -> None:
    assert list(load(f"{module}:{path}")[0]) == ["Quota"]


MISSING = {
    "a module that is not there": (
        "kwhatif_test_nowhere:Quota",
        "kwhatif_test_nowhere cannot be imported: ModuleNotFoundError: No module named 'kwhatif_test_nowhere'",
    ),
    "a class that is not there": (
        "kwhatif_test_quota:Nope",
        "module 'kwhatif_test_quota' has no attribute 'Nope'",
    ),
    "no class": ("kwhatif_test_quota:not_a_class", "it is not a class but int"),
    "a module that raises": (
        "kwhatif_test_broken:Quota",
        "kwhatif_test_broken cannot be imported: RuntimeError: no database",
    ),
    "no module": (":Quota", "expected module:Class"),
    "no class named": ("kwhatif_test_quota:", "expected module:Class"),
    "no entry point": (
        "Quota",
        "no entry point of group kwhatif.scheduler.plugins has this name; give module:Class, or install the plugin",
    ),
}


@pytest.mark.parametrize(("source", "problem"), MISSING.values(), ids=MISSING.keys())
def test_what_is_not_there(module: str, source: str, problem: str) -> None:
    assert problems(source) == [f"--plugin {source}: {problem}"]


def mentions(*names: str) -> dict[str, Any]:
    return {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": name} for name in names]}}}]}


def test_entry_points_are_known_by_name(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, {"Quota": f"{module}:Quota", "Broken": "kwhatif_test_broken:Quota"})
    monkeypatch.syspath_prepend(tmp_path)
    entries, enabled = load(config=mentions("Quota", "NodeName"))
    assert (list(entries), enabled) == (["Quota"], [])
    entries, enabled = load("Quota", config=mentions("Quota"))
    assert (list(entries), enabled) == (["Quota"], ["Quota"])


def test_entry_points_that_nobody_names_are_not_imported(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, {"Quota": f"{module}:Quota", "Broken": "kwhatif_test_broken:Quota"})
    monkeypatch.syspath_prepend(tmp_path)
    assert load(config=mentions("NodeName")) == ({}, [])
    assert module not in sys.modules


def test_entry_points_that_cannot_be_used(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, {"Other": f"{module}:Quota", "Broken": "kwhatif_test_broken:Quota"})
    monkeypatch.syspath_prepend(tmp_path)
    assert sorted(problems(config=mentions("Other", "Broken"))) == [
        "entry point Broken: kwhatif_test_broken:Quota cannot be imported: RuntimeError: no database",
        f"entry point Other: {module}:Quota has another name: 'Quota'",
    ]


ODD_CONFIGS: Sequence[Any] = ({"profiles": 3}, {"profiles": [3, {"plugins": [{"name": 4}]}]}, {"profiles": None})


@pytest.mark.parametrize("config", ODD_CONFIGS)
def test_a_configuration_that_makes_no_sense_is_left_to_those_who_say_so(config: Any) -> None:
    assert load(config=config) == ({}, [])


def test_names_of_built_in_plugins_are_looked_up_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(**_: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr("importlib.metadata.entry_points", never)
    assert load(config=mentions(*(entry.name for entry in ENTRIES))) == ({}, [])


# --- Reading the configuration of a scheduler: one object, no key twice, and every problem with its line ---


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def problems_of_scheduler_config(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_scheduler_config(str(path), (), stdin=io.BytesIO()).scheduler(find_release(36), None)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


REFUSED: dict[str, tuple[str, list[str]]] = {
    "a problem has its line": (
        HEAD + "profiles:\n- schedulerName: a\n  plugins:\n    filter:\n      enabled:\n      - name: NodeName\n"
        "      - name: Nope\n",
        ['config.yaml, line 9: profiles[0].plugins.filter.enabled[1]: FilterPlugin "Nope" does not exist'],
    ),
    "what is missing has the line of what it is missing in": (
        HEAD + "extenders:\n- urlPrefix: http://x\n  prioritizeVerb: p\n",
        [
            "config.yaml, line 4: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ],
    ),
    "a problem of the whole has the first line": (
        HEAD.replace("/v1", "/v1beta3"),
        [
            "config.yaml, line 1: expected apiVersion kubescheduler.config.k8s.io/v1 and kind"
            " KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1beta3 KubeSchedulerConfiguration"
        ],
    ),
    "of two equal keys neither counts": (
        HEAD + "parallelism: 1\nprofiles: [{schedulerName: a, schedulerName: b}]\nparallelism: 2\n",
        [
            'config.yaml, line 4: key "schedulerName" already set in map',
            'config.yaml, line 5: key "parallelism" already set in map',
        ],
    ),
    "in JSON neither": (
        '{"apiVersion": "kubescheduler.config.k8s.io/v1",\n\t"kind": "KubeSchedulerConfiguration",\n\t"kind": "x"}',
        ['config.yaml, line 3: key "kind" already set in map'],
    ),
    "a problem of JSON has its line, too": (
        '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",\n\n\t"parallelism": 0}',
        ["config.yaml, line 3: parallelism: Invalid value: 0: should be an integer value greater than zero"],
    ),
    "unless it is JSON that no YAML parser takes": (
        '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "'
        + "x" * 2000
        + '": 0}',
        ["config.yaml: " + "x" * 2000 + ": unknown field"],
    ),
    "more than one document": (
        HEAD + "---\n" + HEAD,
        ["config.yaml: expected one KubeSchedulerConfiguration, found 2 documents"],
    ),
    "nothing": ("# soon\n", ["config.yaml: expected one KubeSchedulerConfiguration, found 0 documents"]),
    "no object": ("- a\n", ["config.yaml: expected a KubeSchedulerConfiguration, which is an object"]),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert problems_of_scheduler_config(tmp_path, text) == expected


def test_what_does_not_parse_is_reported_as_for_any_file(tmp_path: Path) -> None:
    (problem,) = problems_of_scheduler_config(tmp_path, HEAD + "profiles: [\n")
    assert problem.startswith("config.yaml, ")
    assert "is not valid YAML" in problem


def test_lines_are_looked_up_once_for_all_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = mock.Mock(side_effect=line_tree)
    monkeypatch.setattr(config_file, "line_tree", parse)
    found = problems_of_scheduler_config(tmp_path, HEAD + "".join(f"wrong{number}: x\n" for number in range(50)))
    first = HEAD.count("\n") + 1
    assert [problem.split(":")[0] for problem in found] == [f"config.yaml, line {first + each}" for each in range(50)]
    parse.assert_called_once()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_config(str(tmp_path / "nowhere"), stdin=io.BytesIO())
    assert caught.value.problems == (Problem(str(tmp_path / "nowhere"), "cannot be read: No such file or directory"),)


def test_it_can_be_piped_in() -> None:
    file = read_config("-", stdin=io.BytesIO(HEAD.encode()))
    assert (file.name, file.data["kind"]) == ("standard input", "KubeSchedulerConfiguration")


KEYS = {
    "keys of different maps may be equal": ("a: {x: 1}\nb: {x: 1}\n", []),
    "so may keys and values": ("a: b\nb: a\n", []),
    "a list of maps": ("- {x: 1}\n- {x: 1, x: 2}\n", [(2, "x")]),
    "behind a map as a value": ("a: {b: {c: 1}}\na: 2\n", [(2, "a")]),
    "an alias is a value": ("a: &l [1]\nb: *l\nb: 1\n", [(3, "b")]),
    "three times": ("a: 1\na: 2\na: 3\n", [(2, "a"), (3, "a")]),
}


@pytest.mark.parametrize(("text", "expected"), KEYS.values(), ids=KEYS.keys())
def test_repeated_keys(text: str, expected: list[tuple[int, str]]) -> None:
    assert list(repeated_keys(text.encode())) == expected


# --- extenders that are not called --------------------------------------------------------------------


def caveats(tmp_path: Path, extender: str) -> list[str]:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + f"extenders: [{extender}]\n")
    return list(
        sentences(read_scheduler_config(str(path), (), stdin=io.BytesIO()).scheduler(find_release(36), None).caveats)
    )


CAVEATS = {
    "what it would have been asked": (
        "{urlPrefix: 'http://u:secret@x/y', filterVerb: f, prioritizeVerb: p, preemptVerb: e, weight: 1}",
        ["extender http://u:xxxxx@x/y was not asked to filter, prioritize, preempt; --call-extenders asks it"],
    ),
    "about which pods": (
        "{urlPrefix: 'http://x', filterVerb: f, managedResources: [{name: a.io/x}, {name: a.io/y}]}",
        ["extender http://x was not asked to filter about pods that use a.io/x, a.io/y; --call-extenders asks it"],
    ),
    "one that binds": (
        "{urlPrefix: 'http://x', bindVerb: b}",
        ["extender http://x binds pods itself; kwhatif binds nothing and does not ask it to"],
    ),
    "one that is asked nothing": ("{urlPrefix: 'http://x', managedResources: [{name: a.io/x}]}", []),
}


def test_plugins_that_are_not_modelled_are_caveats(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "profiles: [{plugins: {permit: {enabled: [{name: GangScheduling}]}}}]\n")
    assert list(
        sentences(read_scheduler_config(str(path), (), stdin=io.BytesIO()).scheduler(find_release(36), None).caveats)
    ) == ["plugin GangScheduling is enabled, but not modelled: it is about groups of pods"]


@pytest.mark.parametrize(("extender", "expected"), CAVEATS.values(), ids=CAVEATS.keys())
def test_extenders_that_are_not_called_are_caveats(tmp_path: Path, extender: str, expected: list[str]) -> None:
    assert caveats(tmp_path, extender) == expected
