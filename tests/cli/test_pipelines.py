"""What the repository ships for pipelines does what docs/ci.md says: the action, the GitLab job, the hook."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kwhatif.policy.build import build_rulebook
from tests.cli.running import run

ROOT = Path(__file__).parents[2]
DUMP = ROOT / "fixtures" / "demo" / "cluster.yaml"
MANIFESTS = ROOT / "fixtures" / "gate" / "manifests"
BLOCKS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def bash(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "COLUMNS": "100", "SOURCE_DATE_EPOCH": "1795245600", **variables}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


# --- the action ------------------------------------------------------------------------------------------


def act(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's main step as a runner would, with these inputs."""
    action = read("action.yml")
    step = action["runs"]["steps"][-1]
    given = {
        name: inputs.get(name.replace("-", "_"), spec.get("default", "")) for name, spec in action["inputs"].items()
    }
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], value)
        for name, value in step["env"].items()
    }
    files_of_runner = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return bash(
        step["run"], folder, GITHUB_ACTION_PATH=str(ROOT), RUNNER_TEMP=str(folder), **files_of_runner, **variables
    )


def test_the_action_annotates_sums_up_and_leaves_reports(tmp_path: Path) -> None:
    done = act(tmp_path, manifests=f"{MANIFESTS}\n{ROOT}/fixtures/gate/broken\n", cluster=str(DUMP))
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert re.fullmatch(r"[0-9a-f]{32}", token)
    table, annotations = lines[1 : lines.index(f"::{token}::")], lines[lines.index(f"::{token}::") + 1 :]
    assert table[0].startswith("✘ The gate fails: 6 workloads, 14 pods")
    assert [line.partition(" ")[0] for line in annotations] == ["::error", "::error", "::warning"]
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith("### ❌ The gate fails")
    outputs = dict(line.split("=", 1) for line in (tmp_path / "GITHUB_OUTPUT").read_text().splitlines())
    assert outputs.pop("exit-code") == "3"
    assert set(outputs) == set(read("action.yml")["outputs"]) - {"exit-code"}
    assert all((tmp_path / path).stat().st_size for path in outputs.values())


def test_the_actions_inputs_become_options(tmp_path: Path) -> None:
    policy = tmp_path / "my policy.yaml"
    policy.write_text("apiVersion: kwhatif.dev/v1\nkind: Policy\npreemption: fail\n")
    done = act(
        tmp_path,
        manifests=f"{ROOT}/fixtures/gate/custom.yaml\n\n{ROOT}/fixtures/gate/updates/*.yaml",
        cluster=str(DUMP),
        policy=str(policy),
        rollout="surge",
        pod_template_paths="Rollout=.spec.template\n",
        strict="true",
        annotations="false",
        summary="false",
        reports="out",
    )
    assert done.returncode == 1, done.stderr
    made = json.loads((tmp_path / "out" / "gate.json").read_text())
    assert [row["update"] for row in made["workloads"]] == ["new", "changed"]
    assert made["workloads"][1]["replicas"] == 2
    assert made["policy"]["source"] == str(policy)
    assert done.stdout.splitlines()[-1].startswith("::")
    assert not (tmp_path / "GITHUB_STEP_SUMMARY").exists()


def test_where_nothing_can_be_judged_the_action_promises_no_reports(tmp_path: Path) -> None:
    (tmp_path / "kwhatif-reports").mkdir()
    (tmp_path / "kwhatif-reports" / "gate.json").write_text("{}")  # of an earlier run
    done = act(tmp_path, manifests=str(MANIFESTS), cluster="nowhere.yaml")
    assert done.returncode == 3
    assert "nowhere.yaml" in done.stderr
    assert done.stdout.splitlines()[-1] == (
        "::error title=kwhatif::Nothing could be judged (exit code 3): the log says why."
    )
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "exit-code=3\n"
    assert not (tmp_path / "GITHUB_STEP_SUMMARY").exists()


def test_every_input_of_the_action_reaches_its_script() -> None:
    action, script = read("action.yml"), (ROOT / "ci" / "github.sh").read_text()
    text = json.dumps(action["runs"])
    for name in action["inputs"]:
        assert f"inputs.{name} " in text, name
    for name in action["runs"]["steps"][-1]["env"]:
        assert re.search(rf"\${name}\b", script), name
    assert not any("${{" in step.get("run", "") for step in action["runs"]["steps"])


# --- GitLab ----------------------------------------------------------------------------------------------


def test_the_gitlab_job_leaves_its_reports(tmp_path: Path) -> None:
    job = read("ci/gitlab.yml")[".kwhatif-gate"]
    variables = {**job["variables"], "KWHATIF_MANIFESTS": f"{MANIFESTS}/*.yaml", "KWHATIF_CLUSTER": str(DUMP)}
    done = bash("\n".join(job["script"]), tmp_path, **variables)
    assert done.returncode == 1, done.stderr
    for path in job["artifacts"]["reports"].values():
        assert (tmp_path / path).stat().st_size
    rows = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [row["check_name"] for row in rows] == ["denied"]


# --- pre-commit ------------------------------------------------------------------------------------------


def test_the_hook_of_the_documentation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (hook,) = read(".pre-commit-hooks.yaml")
    asked = next(yaml.safe_load(block) for block in BLOCKS if ".pre-commit-config.yaml" in block)["repos"][0]["hooks"][
        0
    ]
    assert asked["id"] == hook["id"]
    arguments = [
        {"manifests/": "fixtures/gate/updates", "cluster.json.gz": str(DUMP)}.get(arg, arg) for arg in asked["args"]
    ]
    monkeypatch.chdir(ROOT)
    assert run(f"{hook['entry']} {shlex.join(arguments)}").code == 0
    assert hook["pass_filenames"] is False


# --- the documentation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", BLOCKS, ids=[block.splitlines()[0] for block in BLOCKS])
def test_every_example_is_yaml(block: str) -> None:
    assert yaml.safe_load(block)


def test_the_policy_of_the_documentation_is_one() -> None:
    policy = next(
        data for data in map(yaml.safe_load, BLOCKS) if isinstance(data, dict) and data.get("kind") == "Policy"
    )
    build_rulebook(policy, "docs/ci.md")
    schema = json.loads((files("kwhatif") / "schema" / "policy.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(policy, default=str)))


def test_the_defaults_of_the_documentation_are_the_defaults() -> None:
    policy = next(
        data for data in map(yaml.safe_load, BLOCKS) if isinstance(data, dict) and data.get("kind") == "Policy"
    )
    schema = json.loads((files("kwhatif") / "schema" / "policy.json").read_text())
    properties = schema["$defs"]["Policy"]["properties"]
    levels = {
        name: spec["default"]
        for name, spec in properties.items()
        if spec.get("enum") == ["fail", "ignore", "pass", "warn"]
    }
    assert levels
    assert {name: policy[name] for name in levels} == levels
