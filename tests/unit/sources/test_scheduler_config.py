"""Reading the configuration of a scheduler: one object, no key twice, and every problem with its line."""

from __future__ import annotations

import io
from pathlib import Path
from unittest import mock

import pytest

from kwhatif.errors import InputError, Problem
from kwhatif.render.caveats import sentences
from kwhatif.scheduler.release import find_release
from kwhatif.sources.decoding import config_file
from kwhatif.sources.decoding.config_file import read_config
from kwhatif.sources.scheduler.profiles import read_scheduler_config
from kwhatif.sources.text.yaml_text import line_tree, repeated_keys

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def problems(tmp_path: Path, text: str) -> list[str]:
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
    assert problems(tmp_path, text) == expected


def test_what_does_not_parse_is_reported_as_for_any_file(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, HEAD + "profiles: [\n")
    assert problem.startswith("config.yaml, ")
    assert "is not valid YAML" in problem


def test_lines_are_looked_up_once_for_all_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = mock.Mock(side_effect=line_tree)
    monkeypatch.setattr(config_file, "line_tree", parse)
    found = problems(tmp_path, HEAD + "".join(f"wrong{number}: x\n" for number in range(50)))
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
