"""What the repository ships for pipelines does what docs/ci.md says: the action, the GitLab job, the hook."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kwhatif.policy.build import build_rulebook
from tests import FIXTURES, ROOT
from tests.cli.running import run

DUMP = FIXTURES / "demo" / "cluster.yaml"
MANIFESTS = FIXTURES / "gate" / "manifests"
BLOCKS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")


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
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    given = {
        name: inputs.get(name.replace("-", "_"), spec.get("default", "")) for name, spec in action["inputs"].items()
    }
    variables = {
        name: re.sub(r"\$\{\{ (?:inputs\.)?(.*?) \}\}", lambda match: given.get(match[1], ""), value)
        for name, value in step["env"].items()
    }
    variables |= {name: value for name, value in inputs.items() if name.isupper()}
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


PERMISSIVE = "apiVersion: kwhatif.dev/v1\nkind: Policy\nunschedulable: ignore\ndenied: ignore\n"
STRICT = "apiVersion: kwhatif.dev/v1\nkind: Policy\npreemption: fail\n"


def repository(folder: Path, base: dict[str, str], change: dict[str, str]) -> tuple[str, str]:
    """A checkout as GitHub makes it for a pull request; its base, and the commit that merges the two."""
    commands = ["git init -q -b main", IDENTITY, "git commit -q --allow-empty -m 0"]
    for name, files_of in (("base", base), ("change", change)):
        commands += [f"git checkout -q -b {name}"] if name == "change" else []
        for path, text in files_of.items():
            commands += [f"printf %s {shlex.quote(text)} > {path}"]
        commands += ["git add -A", f"git commit -q --allow-empty -m {name}"]
    commands += ["git checkout -q main", "git merge -q --no-ff --no-edit change", "git rev-parse HEAD^1 HEAD"]
    done = bash("\n".join(commands), folder, HOME=str(folder))
    assert done.returncode == 0, done.stderr
    first, merged = done.stdout.split()
    return first, merged


JUDGED_BY = {
    "a change of the policy": ({"kwhatif.yaml": STRICT}, {"kwhatif.yaml": PERMISSIVE}, "", "preemption: fail"),
    "a policy that goes": ({".kwhatif.yaml": STRICT}, {".kwhatif.yaml": ""}, "", "preemption: fail"),
    "a policy that comes": ({}, {"kwhatif.yaml": PERMISSIVE}, "", ""),
    "one that goes before another": (
        {".kwhatif.yaml": STRICT}, {"kwhatif.yaml": PERMISSIVE}, "", "preemption: fail",
    ),
    "a policy that is named": ({"p.yaml": STRICT}, {"p.yaml": PERMISSIVE}, "p.yaml", "preemption: fail"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("base", "change", "named", "expected", "event"),
    [(*files, "pull_request") for files in JUDGED_BY.values()] + [(*JUDGED_BY["a policy that goes"], "merge_group")],
    ids=[*JUDGED_BY, "a policy that goes, in a queue of merges"],
)
def test_a_change_does_not_bring_the_policy_by_which_it_is_judged(
    tmp_path: Path, base: dict[str, str], change: dict[str, str], named: str, expected: str, event: str
) -> None:
    first, merged = repository(tmp_path, base, change)
    variables = {"GITHUB_EVENT_NAME": event, "GITHUB_SHA": merged, "BASE": first}
    done = act(tmp_path, manifests=str(MANIFESTS), cluster=str(DUMP), policy=named, **variables)
    assert done.returncode == 1, done.stderr
    source = json.loads((tmp_path / "kwhatif-reports" / "gate.json").read_text())["policy"]["source"]
    assert Path(source).is_absolute()
    assert expected in Path(source).read_text()
    assert "ignore" not in Path(source).read_text()
    assert ("The default policy is used" in done.stderr) is not bool(base)


def test_without_the_base_nothing_is_judged(tmp_path: Path) -> None:
    repository(tmp_path, {}, {"kwhatif.yaml": PERMISSIVE})
    done = act(tmp_path, manifests=str(MANIFESTS), cluster=str(DUMP), BASE="1" * 40)
    assert done.returncode != 0
    assert "Give actions/checkout fetch-depth: 2." in done.stderr
    assert not (tmp_path / "kwhatif-reports" / "gate.json").exists()


def test_the_gitlab_job_takes_the_policy_of_the_target_branch(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    repository(origin, {"kwhatif.yaml": STRICT}, {"kwhatif.yaml": PERMISSIVE})
    setup = f"git -C {origin} checkout -q -B main HEAD^1 && git clone -q --depth 1 -b change file://{origin} {clone}"
    assert bash(setup, tmp_path, HOME=str(tmp_path)).returncode == 0
    job = gitlab(".kwhatif-gate")
    variables = {**job["variables"], "KWHATIF_MANIFESTS": f"{MANIFESTS}/*.yaml", "KWHATIF_CLUSTER": str(DUMP)}
    merge = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "KWHATIF_SOURCE": str(ROOT), "HOME": str(tmp_path)}
    for more, expected in ((merge, "preemption: fail"), ({}, "unschedulable: ignore")):
        bash("\n".join(job["script"]), clone, **variables, **more)
        source = json.loads((clone / "kwhatif-reports" / "gate.json").read_text())["policy"]["source"]
        assert expected in (clone / source).read_text()


def test_python_imports_nothing_from_the_checkout() -> None:
    action = read("action.yml")
    texts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    texts += [line for name in (".kwhatif", ".kwhatif-save", ".kwhatif-gate") for line in gitlab(name)["before_script"]]
    called = [call for text in texts for call in re.findall(r'(?:\$PYTHON"|\bpython"?) +(\S+)', text)]
    assert len(called) >= 5
    assert set(called) == {"-I"}


def test_what_stands_in_the_checkout_does_not_run(tmp_path: Path) -> None:
    for name in ("hashlib", "venv", "pip", "sys", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'a').close()")
    steps = {step["name"]: step for step in read("action.yml")["runs"]["steps"] if "name" in step}
    files_of_runner = {"GITHUB_OUTPUT": str(tmp_path / "out"), "GITHUB_ACTION_PATH": str(ROOT)}
    done = bash(steps["Name the cache"]["run"], tmp_path, PYTHON=sys.executable, **files_of_runner)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"hash=[0-9a-f]{64}\n", (tmp_path / "out").read_text())
    assert not (tmp_path / "ran").exists()


def test_actions_are_pinned_by_their_commit() -> None:
    texts = {name: (ROOT / name).read_text() for name in ["action.yml", *WORKFLOWS]}
    used = [(name, line) for name, text in texts.items() for line in re.findall(r"uses: (.*)", text)]
    assert len(used) > 8
    for name, line in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+", line), f"{name}: {line}"
    watched = {update["package-ecosystem"] for update in read(".github/dependabot.yml")["updates"]}
    assert watched == {"github-actions", "docker", "pip"}


def test_every_input_of_the_action_reaches_its_script() -> None:
    action = read("action.yml")
    text = json.dumps(action["runs"])
    for name in action["inputs"]:
        assert f"inputs.{name} " in text, name
    scripts = {"Ask": "github.sh", "Comment": "comment.sh"}
    for step in action["runs"]["steps"]:
        if file := scripts.get(step.get("name")):
            assert f"ci/{file}" in step["run"]
            for name in step["env"]:
                assert re.search(rf"\${name}\b", (ROOT / "ci" / file).read_text()) or name == "GH_TOKEN", name
    assert not any("${{" in step.get("run", "") for step in action["runs"]["steps"])


# --- the comment -----------------------------------------------------------------------------------------

#: Stands in for GitHub: comments are files, one a line of JSON; a token that may only read fails.
GH = r"""#!/usr/bin/env bash
set -euo pipefail
echo "$*" >> "$STORE/calls"
method=GET body= path=
while [ $# -gt 0 ]; do
  case "$1" in
    --method) method=$2; shift ;;
    --field) body="$(cat "${2#body=@}")"; shift ;;
    repos/*) path=$1 ;;
  esac
  shift
done
[ "$method" = GET ] || [ "$TOKEN" = write ] || { echo "HTTP 403" >&2; exit 1; }
case "$method" in
  GET) jq -n '[]'; jq -s . "$STORE/comments" ;;
  POST) jq -cn --arg body "$body" '{id: 7, user: {type: "Bot"}, body: $body}' >> "$STORE/comments" ;;
  PATCH) jq -c --arg body "$body" --argjson id "${path##*/}" 'if .id == $id then .body = $body else . end' \
      "$STORE/comments" > "$STORE/new"; mv "$STORE/new" "$STORE/comments" ;;
esac
"""


@needs_jq
def test_one_comment_is_kept_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    spoof = {"id": 1, "user": {"type": "User"}, "body": "<!-- kwhatif: gate -->\nmine"}
    (tmp_path / "comments").write_text(json.dumps(spoof) + "\n")
    body = tmp_path / "gate.md"

    def comment(text: str, name: str = "gate", token: str = "write") -> str:
        body.write_text(text)
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        variables = {"NAME": name, "BODY": str(body), "PULL_REQUEST": "3", "GITHUB_REPOSITORY": "o/r"}
        done = bash(f"PATH='{path}' bash {ROOT}/ci/comment.sh", tmp_path, STORE=str(tmp_path), TOKEN=token, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def bodies() -> list[str]:
        return [json.loads(line)["body"] for line in (tmp_path / "comments").read_text().splitlines()]

    assert comment("### no") == ""
    assert comment("### yes: `$(rm -rf /)`") == ""
    mine = "<!-- kwhatif: gate -->\nmine"
    assert bodies() == [mine, "<!-- kwhatif: gate -->\n### yes: `$(rm -rf /)`"]
    comment("other", name="prod")
    assert bodies()[2] == "<!-- kwhatif: prod -->\nother"
    said = comment("### no", token="read")
    assert said.startswith("::warning title=kwhatif::The comment could not be written.")
    assert bodies()[1].endswith("rm -rf /)`")
    comment("line\n" * 20_000)
    assert len(bodies()[1]) < 65_000
    assert bodies()[1].endswith("the rest is in the summary of the job.")
    assert "repos/o/r/issues/3/comments" in (tmp_path / "calls").read_text()


# --- GitLab ----------------------------------------------------------------------------------------------


def gitlab(name: str) -> dict[str, Any]:
    """The job with what it extends, as GitLab merges them."""
    jobs = read("ci/gitlab.yml")
    job = jobs[name]
    base = gitlab(job["extends"]) if "extends" in job else {"variables": jobs["variables"]}
    return base | job | {"variables": base["variables"] | job.get("variables", {})}


def test_the_gitlab_job_leaves_its_reports(tmp_path: Path) -> None:
    job = gitlab(".kwhatif-gate")
    variables = {**job["variables"], "KWHATIF_MANIFESTS": f"{MANIFESTS}/*.yaml", "KWHATIF_CLUSTER": str(DUMP)}
    done = bash("\n".join(job["script"]), tmp_path, **variables)
    assert done.returncode == 1, done.stderr
    for path in job["artifacts"]["reports"].values():
        assert (tmp_path / path).stat().st_size
    rows = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [row["check_name"] for row in rows] == ["denied"]


#: Keeps what is uploaded, as GitLab does.
CURL = r"""#!/usr/bin/env bash
set -euo pipefail
[[ "$*" == *"JOB-TOKEN: secret"* ]] && [ "${@: -1}" = https://gitlab.example/kept ]
while [ $# -gt 0 ]; do
  case "$1" in
    --upload-file) cp "$2" "$KEPT" ;;
    --output) cp "$KEPT" "$2" ;;
  esac
  shift
done
"""


def test_gitlab_keeps_the_snapshot_for_the_gate(tmp_path: Path) -> None:
    (tmp_path / "curl").write_text(CURL)
    (tmp_path / "curl").chmod(0o755)
    common = {
        "CI_JOB_TOKEN": "secret",
        "KWHATIF_STORE": "https://gitlab.example/kept",
        "KEPT": str(tmp_path / "kept"),
        "KWHATIF_MANIFESTS": str(FIXTURES / "gate" / "updates"),
    }
    use_stub = f"PATH='{tmp_path}':$PATH\n"
    first = (tmp_path / "save", tmp_path / "gate")
    for folder in first:
        folder.mkdir()
    # The dump stands in for the live cluster.
    script = "\n".join(gitlab(".kwhatif-save")["script"]).replace('--kubeconfig "$KUBECONFIG_READER"', f"--from {DUMP}")
    assert bash(use_stub + script, first[0], **common).returncode == 0
    job = gitlab(".kwhatif-gate")
    done = bash(use_stub + "\n".join(job["script"]), first[1], **{**job["variables"], **common})
    assert done.returncode == 0, done.stderr
    assert (first[1] / "kwhatif-reports" / "gate.md").exists()


def test_gitlab_installs_a_tag_or_a_commit(tmp_path: Path) -> None:
    """pip is a stand-in: what it is asked for is there."""
    origin = tmp_path / "origin"
    origin.mkdir()
    setup = """git init --quiet && git config user.name a && git config user.email a@b && touch requirements.lock
        git add . && git commit --quiet -m 1 && git tag v1 && git config uploadpack.allowAnySHA1InWant true && git rev-parse HEAD"""
    commit = bash(setup, origin).stdout.strip()
    (tmp_path / "python").write_text('#!/bin/sh\necho "$*" >> pip.txt\ntest -e "$KWHATIF_SOURCE/requirements.lock"\n')
    (tmp_path / "python").chmod(0o755)
    # What is installed lies in no folder that a merge request can fill.
    assert "CI_PROJECT_DIR" not in str(gitlab(".kwhatif"))
    for version in ("v1", commit):
        folder = tmp_path / f"job-{version}"
        folder.mkdir()
        script = f"export PATH='{tmp_path}':$PATH KWHATIF_SOURCE\n" + "\n".join(gitlab(".kwhatif")["before_script"])
        done = bash(script, folder, KWHATIF_REPOSITORY=f"file://{origin}", KWHATIF_VERSION=version)
        assert done.returncode == 0, done.stderr
        assert len((folder / "pip.txt").read_text().splitlines()) == 2


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


# --- what their owners would say to these files ----------------------------------------------------------

WORKFLOWS = [str(path.relative_to(ROOT)) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


def check(schema: str, data: Any) -> None:
    parsed = json.loads((FIXTURES / "schemas" / f"{schema}.json").read_text())
    jsonschema.Draft7Validator(parsed).validate(json.loads(json.dumps(data, default=str)))


def as_workflow(text: str) -> Any:
    """In YAML 1.1 `on` is a boolean; to GitHub it is a key."""
    data = yaml.safe_load(text)
    return {("on" if key is True else key): value for key, value in data.items()} if isinstance(data, dict) else data


def test_the_action_is_one() -> None:
    check("github-actions", read("action.yml"))


def test_the_gitlab_jobs_are_jobs() -> None:
    check("gitlab-ci", read("ci/gitlab.yml"))


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem
)
def test_forms_for_issues_ask_for_what_is_needed(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["type"] in ("input", "textarea") and field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_may_as_little_as_possible(name: str) -> None:
    workflow = as_workflow((ROOT / name).read_text())
    check("github-workflows", workflow)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("block", BLOCKS, ids=[block.splitlines()[0] for block in BLOCKS])
def test_every_workflow_of_the_documentation_is_valid(block: str) -> None:
    data = as_workflow(block)
    if block.startswith("# .github/workflows/"):
        check("github-workflows", data)
    elif block.startswith("# .gitlab-ci.yml"):
        check("gitlab-ci", data)
    elif isinstance(data, list):  # steps
        check("github-workflows", {"on": "push", "jobs": {"a": {"runs-on": "x", "steps": data}}})


def steps_of_documentation() -> list[dict[str, Any]]:
    workflows = [as_workflow(block) for block in BLOCKS if block.startswith("# .github/workflows/")]
    return [step for flow in workflows for job in flow["jobs"].values() for step in job["steps"]]


def test_the_action_is_called_with_inputs_that_it_has() -> None:
    steps = steps_of_documentation()
    steps += [step for block in BLOCKS if isinstance(data := yaml.safe_load(block), list) for step in data]
    used = [step for step in steps if step.get("uses", "").startswith("OWNER/kwhatif@")]
    assert len(used) >= 3
    for step in used:
        assert set(step.get("with", {})) <= set(read("action.yml")["inputs"])


def test_scripts_and_shell_blocks_parse() -> None:
    texts = [path.read_text() for folder in ("ci", "scripts") for path in (ROOT / folder).glob("*.sh")]
    flows = [as_workflow((ROOT / name).read_text()) for name in WORKFLOWS]
    texts += [step["run"] for flow in flows for job in flow["jobs"].values() for step in job["steps"] if "run" in step]
    texts += [step["run"] for step in steps_of_documentation() if "run" in step]
    texts += re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    assert len(texts) > 6
    for text in texts:
        subprocess.run(["bash", "-n", "-c", text], check=True)


def run_step(containing: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    (step,) = (step for step in steps_of_documentation() if containing in step.get("run", ""))
    return bash(step["run"], folder, HOME=str(folder), **variables)


IDENTITY = "git config user.name a && git config user.email a@b"


def test_only_changed_manifests_are_judged(tmp_path: Path) -> None:
    output = tmp_path / "output"
    bash(
        f"git init -q && {IDENTITY} && mkdir manifests && touch manifests/a b && git add . && git commit -qm 1",
        tmp_path,
    )

    def asked(change: str) -> bool:
        output.write_text("")
        bash(f"{change} && git add -A . && git commit -qm next", tmp_path)
        assert run_step("git diff --quiet", tmp_path, GITHUB_OUTPUT=str(output)).returncode == 0
        return output.read_text() == "manifests=true\n"

    assert asked("echo 1 > manifests/a")
    assert not asked("echo 1 > b")
    assert asked("echo 1 > kwhatif.yaml")
    assert asked("git rm -q manifests/a")


def test_the_snapshots_branch_is_made_and_kept(tmp_path: Path) -> None:
    """The commands of the documentation, on a repository of their own."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (create,) = re.findall(r"```bash\n(git push.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    setup = f"git init -q --bare origin && git clone -q origin clone && cd clone && {IDENTITY} && touch a && git add a && git commit -qm 1"
    made = bash(f"{setup}\n{create}\ntest -e a && git diff --quiet HEAD", tmp_path, HOME=str(tmp_path))
    assert made.returncode == 0, made.stderr
    for number in ("1", "2"):
        job = tmp_path / f"job{number}"
        bash(f"git clone -q --depth 1 --branch cluster-state file://{origin} {job.name}", tmp_path)
        (job / "cluster.json.gz").write_text(number)
        done = run_step("git push", job)
        assert done.returncode == 0, done.stderr
    seen = bash("git log --oneline cluster-state | wc -l; git show cluster-state:cluster.json.gz", origin)
    assert seen.stdout.split() == ["1", "2"]
    assert clone.exists()


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
