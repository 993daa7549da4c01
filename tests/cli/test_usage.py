"""Help, wrong options, swapped arguments, and completion."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import FIXTURES, ROOT
from tests.cli.running import fork, run

DUMP = FIXTURES / "demo" / "cluster.yaml"
POD = FIXTURES / "demo" / "pods" / "small.yaml"
COMMANDS = [
    "",
    "schedule",
    "preempt",
    "gate",
    "explain",
    "rbac",
    "completion",
    "snapshot",
    "snapshot save",
    "snapshot info",
]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_into_80_columns_and_is_not_cut(command: str) -> None:
    text = run(f"kwhatif {command} --help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.replace("[MANIFEST]...", "").replace("[PATH]...", "").replace("[ARGS]...", "")
    assert text.endswith("\n")


@pytest.mark.parametrize("command", ["schedule", "preempt", "gate"])
def test_options_come_in_groups(command: str) -> None:
    lines = run(f"kwhatif {command} --help").stdout.splitlines()
    titles = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Arguments", "Options", "What if", "Cluster", "Scheduler", "Autoscaler", "Other"]
    options = lines[lines.index("Options:") + 1 :]
    assert options[0].startswith("  -o, --output")
    assert next(line for line in options[1:] if line.startswith("  -")).startswith("  -n, --namespace")


@pytest.mark.parametrize("option", ["--autoscaler auto", "--node-groups x.yaml", "--instance-types x.yaml"])
@pytest.mark.parametrize("command", ["deschedule", "upgrade"])
def test_commands_in_which_no_node_comes_refuse_an_autoscaler(command: str, option: str) -> None:
    found = run(f"kwhatif {command} {option}")
    assert found.code == 2
    assert f"Error: {option.split(maxsplit=1)[0]} is an option of schedule, " in found.stderr
    assert f", not of {command}." in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("preempt --policy x", "--policy is an option of gate, threats, deschedule, not of preempt."),
        ("schedule --images", "--images is an option of snapshot save, not of schedule."),
        ("--policy x gate", "--policy is an option of gate, threats, deschedule: put it after the command."),
        ("schedule --namspace x", "No such option: --namspace. Did you mean --namespace?"),
        ("drain a --form x", "No such option: --form. Did you mean --from?"),
        ("schedule --rollot x", "No such option: --rollot. Did you mean --rollout, an option of gate?"),
        ("schedule --xyzzy", "No such option: --xyzzy."),
        ("gate -k dir", "No such option: -k: build it first: kubectl kustomize DIR | kwhatif gate -."),
        (
            "drain a --all-namespaces",
            "No such option: --all-namespaces: all namespaces are read in any case; -n is the namespace of objects that"
            " name none.",
        ),
        ("schedule --replicas 3", "No such option: --replicas."),
        ("schedule --json", "No such option: --json: write -o json."),
        (
            "gate --user me",
            "No such option: --user: a cluster is named by its context in the kubeconfig: --context NAME.",
        ),
        ("snapshot --imges", "No such option: --imges. Did you mean --images, an option of snapshot save?"),
        (
            "snapshot diff a b",
            "No such command 'diff': kwhatif compare OLD NEW says what differs between two dumps, kwhatif gate what a"
            " manifest changes.",
        ),
        ("capacity x --max 0", "Invalid value for '--max': 0 is not in the range 1 to 100000."),
        ("drain a1 --parallel 0", "Invalid value for '--parallel': 0 is less than 1."),
        ("drain a1 --parallel two", "Invalid value for '--parallel': 'two' is not a whole number."),
        ("drain a1 --grace-period x", "Invalid value for '--grace-period': 'x' is not a whole number."),
        ("shedule", "No such command 'shedule'. Did you mean 'schedule', 'deschedule'?"),
    ],
)
def test_what_was_meant_is_named(arguments: str, message: str) -> None:
    ran = run(f"kwhatif {arguments}")
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.endswith(f"Error: {message}\n")


@pytest.mark.parametrize("command", ["schedule", "preempt", "gate"])
def test_swapped_arguments_are_recognized(command: str) -> None:
    ran = run(f"kwhatif {command} {DUMP} --from {POD}")
    assert (ran.code, ran.stdout) == (2, "")
    assert "are the two swapped?" in ran.stderr
    assert ran.stderr.endswith(f"{POD} --from {DUMP}\n")


def test_nodes_among_the_manifests_are_not_a_swap(tmp_path: Path) -> None:
    """A dump of running pods only, and a manifest that brings the nodes."""
    running = tmp_path / "pods.yaml"
    running.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec: {nodeName: n, containers: [{name: c}]}\n"
    )
    manifest = tmp_path / "all.yaml"
    manifest.write_text(POD.read_text() + "---\napiVersion: v1\nkind: Node\nmetadata: {name: n}\n")
    assert "swapped" not in run(f"kwhatif gate {manifest} --from {running}").stderr


# --- completion ------------------------------------------------------------------------------------------


def completed(shell: str, line: str) -> list[str]:
    """What a shell is offered after this line, as typed so far."""
    words = line.split(" ")
    variables = {
        "_KWHATIF_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = fork("kwhatif", variables=variables)
    assert done.stderr == b""
    return done.stdout.decode().split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kwhatif sch", {"schedule"}),
        ("kwhatif gate -o j", {"json", "junit"}),
        ("kwhatif gate --rollout f", {"final"}),
        ("kwhatif gate --report js", {"json=gate.json"}),
        ("kwhatif schedule --fail-on preemption,uns", {"preemption,unschedulable"}),
        ("kwhatif schedule --fail-on non", {"none"}),
        ("kwhatif drain --fail-on har", {"harm"}),
        ("kwhatif drain --fail-on unsch", {""}),
        ("kwhatif snapshot ", {"save", "info"}),
        ("kwhatif explain NO", {"NOde-group", "NOminated", "NOtReady-taint"}),
        ("kwhatif completion ", {"bash", "zsh", "fish", "powershell"}),
        ("kwhatif gate --from clu", {""}),  # nothing: the shell completes files
        ("kwhatif gate clu", {""}),
    ],
)
def test_values_are_completed(line: str, expected: set[str]) -> None:
    assert set(completed("bash", line)) == expected


def test_fish_shows_what_values_mean() -> None:
    rows = [row.partition("\t") for row in completed("fish", "kwhatif snapshot ")]
    assert {value for value, _, _ in rows} == {"save", "info"}
    assert all(help_ for _, _, help_ in rows)


def test_zsh_completes_files_where_there_are_no_values() -> None:
    assert completed("zsh", "kwhatif gate --from ") == ["_files"]
    assert '"json"' in "\n".join(completed("zsh", "kwhatif gate -o "))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_for_the_shell(shell: str) -> None:
    script = run(f"kwhatif completion {shell}").stdout
    assert "_KWHATIF_COMPLETE=complete_" + shell in script
    program = shutil.which(shell)
    if program:
        subprocess.run([program, "-n", "-c" if shell != "fish" else "--command", script], check=True)


def test_bash_completes_a_line(tmp_path: Path) -> None:
    """The whole way: the script is sourced, its function called as the shell calls it."""
    script = tmp_path / "completion.sh"
    script.write_text(run("kwhatif completion bash").stdout)
    ask = f"source {script}; COMP_WORDS=(kwhatif gate --rollout f); COMP_CWORD=3; _kwhatif_completion kwhatif; echo $COMPREPLY"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", ask], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "final\n"


@pytest.mark.parametrize(
    ("command", "condition"),
    [
        ("schedule pod.yaml", "endless"),
        ("drain a", "unschedulable"),
        ("drain --each a", "preemption"),
        ("outage a", "failed"),
        ("simulate", "harm"),
        ("queue", "target"),
        ("deschedule --strategy RemoveDuplicates", "unschedulable"),
        ("capacity", "unschedulable"),
    ],
)
def test_a_condition_that_the_answer_can_never_meet_is_wrong_usage(command: str, condition: str) -> None:
    ran = run(f"kwhatif {command} --fail-on caveats,{condition}")
    assert ran.code == 2
    assert f"this command never answers {condition!r}: choose from none, " in ran.stderr


ENDLESS = FIXTURES / "stories" / "073-anti-affinity-preempts" / "cluster.yaml"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--aftermath --fail-on cycling", 1),
        ("--aftermath --fail-on pending", 1),
        ("--aftermath --fail-on stalled", 0),
        ("--fail-on cycling,pending", 2),
    ],
)
def test_what_follows_can_be_a_no(options: str, code: int) -> None:
    ran = run(f"kwhatif schedule {ROOT}/fixtures/simulate/vip.yaml --from {ENDLESS} -q {options}")
    assert ran.code == code
    assert ("needs --aftermath for cycling, pending" in ran.stderr) is (code == 2)


DEMO = f"--from {FIXTURES / 'demo' / 'cluster.yaml'}"


def test_a_url_is_not_read() -> None:
    ran = run(f"kwhatif gate https://example.com/a.yaml {DEMO}")
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == (
        "error: https://example.com/a.yaml: is a URL, and only files are read"
        " (pipe it in: curl -fsSL https://example.com/a.yaml | kwhatif … -)\n"
    )


def test_objects_are_named_as_in_kubectl() -> None:
    slash = run(f"kwhatif schedule deploy/shop/checkout {DEMO} -q")
    assert run(f"kwhatif schedule Deployment checkout -n shop {DEMO} -q").stdout == slash.stdout
    assert run(f"kwhatif queue -A -n shop {DEMO}").stdout == run(f"kwhatif queue {DEMO}").stdout


def test_the_version_is_a_command_too() -> None:
    ran = run("kwhatif version")
    assert ran.code == 0
    assert ran.stdout.startswith(run("kwhatif --version").stdout)
    assert ran.stdout.splitlines()[1] == "Kubernetes 1.33 to 1.37"
