"""What programs read: valid by its schema, and a few fields that say what it is about.

What people read is in `test_goldens`.
"""

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import jsonschema
import pytest
import xmlschema
import yaml

from tests import FIXTURES
from tests.cli.running import run
from tests.cli.test_goldens import DESCHEDULE, FROM, GATE, GOLDENS, POLICY, QUEUE
from tests.schemas import validator

ROOT = GOLDENS.parents[1]
SCHEMAS = FIXTURES / "schemas"
PODS = "fixtures/demo/pods"
CONSOLIDATE = "--instance-types fixtures/demo/instance-types.json --from fixtures/demo/karpenter.yaml"
BROKEN = f"{GATE} fixtures/gate/broken {FROM} {POLICY}"
ORDERED = f"kwhatif gate fixtures/gate/ordered {FROM}"
EDITED = f"kwhatif gate fixtures/gate/updates {FROM} --if 'cordon general-a1' --if 'scale deploy/shop/web=9'"


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text())


def field(value: Any, path: str) -> Any:
    """The field of that path; `*` is every entry of a list, a number one of them, `#` how many there are."""
    name, _, rest = path.partition(".")
    match name:
        case "":
            return value
        case "*":
            return [field(entry, rest) for entry in value]
        case "#":
            return len(value)
    return field(value[int(name)] if name.isdigit() else value[name], rest)


#: Command -> exit code, and fields of the report.
REPORTS: dict[str, tuple[int, dict[str, Any]]] = {
    f"kwhatif schedule {PODS}/impossible.yaml {FROM}": (
        1,
        {
            "decisions.*.pod": ["data/impossible"],
            "decisions.0.outcome": "Unschedulable",
            "decisions.0.detail": "full",
            "decisions.0.rejected.#": 12,
            "decisions.0.preemption.eligible": True,
            "workloads.0.message": "stays pending",
        },
    ),
    f"kwhatif schedule {PODS}/patient.yaml {FROM}": (
        1,
        {"decisions.0.preemptionPolicy": "Never", "decisions.0.preemption.eligible": False, "decisions.0.changes.#": 6},
    ),
    f"kwhatif schedule {PODS}/patient.yaml {FROM} --if 'taint general-b1 maint=now:NoExecute'": (
        1,
        {"changes.*.edit": ["taint general-b1 maint=now:NoExecute"], "decisions.0.rejected.#": 12},
    ),
    f"kwhatif queue shop/report {QUEUE} --if 'delete pod/batch/report-7b6c66b4b5-6j6ff'": (
        0,
        {
            "queue.pending": 5,
            "queue.pods.*.pod": ["shop/report"],
            "queue.pods.0.outcome": "Unschedulable",
            "queue.pods.0.wakeUps.0.cause.type": "RoomFreed",
            "queue.pods.0.after.fate": "Woken",
            "queue.pods.0.after.node": "general-a2",
        },
    ),
    f"kwhatif queue shop/ledger {QUEUE}": (
        0,
        {"queue.pods.*.pod": ["shop/ledger"], "decisions.0.unschedulablePlugins": ["VolumeBinding"]},
    ),
    f"kwhatif queue shop/report {QUEUE} --from fixtures/demo/events.yaml": (
        0,
        {"queue.pods.*.pod": ["shop/report"], "decisions.0.outcome": "Unschedulable"},
    ),
    f"kwhatif advise {PODS}/patient.yaml {FROM} --most 1": (
        1,
        {
            "advise.workloads.*.workload": ["Pod shop/patient"],
            "advise.workloads.0.advice.#": 1,
            "advise.workloads.0.advice.0.outcome": "Placed",
            "advise.leftOut": 0,
        },
    ),
    f"kwhatif consolidate {CONSOLIDATE}": (
        0,
        {
            "consolidate.autoscaler": "karpenter",
            "consolidate.saved": 0.508,
            "consolidate.drains.0.nodes": ["ip-10-0-1-7", "ip-10-0-2-4"],
            "consolidate.drains.0.pending.#": 0,
        },
    ),
    f"kwhatif drain ip-10-0-1-7 --force --autoscaler karpenter {CONSOLIDATE}": (
        0,
        {
            "autoscaler.rounds.0.newNodes.#": 1,
            "autoscaler.rounds.0.placed.#": 2,
            "story.parameters.nodeStartup": 90.0,
            "story.pending.#": 0,
        },
    ),
    f"kwhatif deschedule {DESCHEDULE} --fail-on useless": (
        0,
        {
            "deschedule.policy": "fixtures/demo/descheduler.yaml",
            "deschedule.evicted.#": 3,
            "deschedule.nodeClasses.#": 12,
            "deschedule.rounds.*.round": [1, 2, 3, 4],
            "deschedule.course": "Endless",
        },
    ),
    f"kwhatif upgrade --to 1.35 {FROM}": (
        0,
        {"upgrade.before": "1.36", "upgrade.after": "1.35", "upgrade.workloads.#": 3, "upgrade.workloadsJudged": 9},
    ),
    f"kwhatif gate fixtures/gate/updates {FROM}": (
        0,
        {
            "policy.verdict": "warn",
            "policy.findings.*.rule": ["preemption"],
            "workloads.*.name": ["Deployment shop/api"],
            "workloads.0.removed": 6,
            "workloads.0.preempting": 2,
            "workloads.0.rollout.completed": True,
        },
    ),
    ORDERED: (
        1,
        {
            "policy.verdict": "fail",
            "policy.findings.*.rule": ["unschedulable", "preemption"],
            "workloads.0.waiting": 2,
            "decisions.*.outcome": ["Preempts"] * 3 + ["Unschedulable"] + ["Waits"] * 2,
        },
    ),
    f"kwhatif simulate {PODS}/small.yaml {FROM}": (
        0,
        {
            "story.settled": "settled",
            "story.seconds": 5.0,
            "story.parameters.horizon": 3600.0,
            "story.events.*.id": [0, 1, 2],
            "story.workloads.#": 10,
        },
    ),
    f"kwhatif outage general-a2 --deleted {FROM}": (
        0,
        {"story.verdict.of": "outage", "story.verdict.ok": True, "story.verdict.moved": 4, "story.gone.#": 6},
    ),
    f"kwhatif capacity {PODS}/checkout.yaml {FROM} --target 3 --add-nodes-like general-a1": (
        0,
        {"capacity.fit.sets": 0, "capacity.target.met": True, "capacity.addedNodes.nodes": 3},
    ),
    f"kwhatif capacity {FROM} --max 2": (0, {"capacity.limit": 2, "capacity.shapes.#": 8, "capacity.otherShapes": 0}),
}


@pytest.mark.parametrize(("command", "code", "fields"), [(command, *rest) for command, rest in REPORTS.items()])
def test_reports(command: str, code: int, fields: dict[str, Any]) -> None:
    as_json, as_yaml = (run(f"{command} -o {output}") for output in ("json", "yaml"))
    assert (as_json.code, as_yaml.code) == (code, code), as_json.stderr
    report = json.loads(as_json.stdout)
    assert yaml.load(as_yaml.stdout, yaml.CSafeLoader) == report
    validator("report").validate(report)
    assert {path: field(report, path) for path in fields} == fields


#: Command -> exit code, and rule, level, file, line and whether it is suppressed, of every finding.
FINDINGS: dict[str, tuple[int, list[tuple[str, str, str, int, bool]]]] = {
    BROKEN: (
        3,
        [
            ("manifest", "error", "broken/broken.yaml", 16, False),
            ("preemption", "error", "manifests/checkout.yaml", 12, True),
            ("denied", "error", "manifests/inference.yaml", 2, True),
            ("preemption", "error", "broken/broken.yaml", 27, False),
            ("expiredException", "warning", "kwhatif.yaml", 30, False),
        ],
    ),
    ORDERED: (
        1,
        [
            ("unschedulable", "error", "ordered/db.yaml", 2, False),
            ("preemption", "warning", "ordered/db.yaml", 2, False),
        ],
    ),
    EDITED: (0, [("preemption", "warning", "updates/api.yaml", 2, False)]),
}
of_findings = pytest.mark.parametrize(("command", "code", "found"), [(name, *rest) for name, rest in FINDINGS.items()])
Found = list[tuple[str, str, str, int, bool]]
HERE = "fixtures/gate/"


@of_findings
def test_sarif(command: str, code: int, found: Found) -> None:
    ran = run(f"{command} -o sarif")
    made = json.loads(ran.stdout)
    jsonschema.validate(made, schema("sarif-2.1.0.json"))
    results = []
    for result in made["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        file = place["artifactLocation"]["uri"].removeprefix(HERE)
        is_suppressed = bool(result.get("suppressions"))
        results.append((result["ruleId"], result["level"], file, place["region"]["startLine"], is_suppressed))
    assert (ran.code, results) == (code, found)


@of_findings
def test_gitlab(command: str, code: int, found: Found) -> None:
    ran = run(f"{command} -o gitlab")
    made = json.loads(ran.stdout)
    jsonschema.validate(made, schema("gitlab-code-quality.json"))
    severity = {"error": "critical", "warning": "minor"}
    rows = [
        (row["check_name"], row["severity"], row["location"]["path"], row["location"]["lines"]["begin"]) for row in made
    ]
    open_ = [
        (rule, severity[level], HERE + file, line) for rule, level, file, line, suppressed in found if not suppressed
    ]
    assert (ran.code, rows) == (code, open_)
    assert len({row["fingerprint"] for row in made}) == len(made)


_ANNOTATION = re.compile(r"::(error|warning) file=(.*?),line=(\d+),title=kwhatif%3A (\w+)::.+")


@of_findings
def test_github(command: str, code: int, found: Found) -> None:
    ran = run(f"{command} -o github")
    lines = [line for line in ran.stdout.splitlines() if not line.startswith("::notice title=kwhatif%3A edit::")]
    matches = [_ANNOTATION.fullmatch(line) for line in lines]
    rows = [match and (match[4], match[1], match[2], int(match[3])) for match in matches]
    open_ = [(rule, level, HERE + file, line) for rule, level, file, line, suppressed in found if not suppressed]
    assert (ran.code, rows) == (code, open_)
    assert len(ran.stdout.splitlines()) - len(lines) == command.count("--if")


@pytest.mark.parametrize(
    ("command", "code", "counts", "failing"),
    [
        (BROKEN, 3, ("8", "1", "1"), ["Deployment shop/typo", "Pod shop/large"]),
        (ORDERED, 1, ("1", "1", "0"), ["StatefulSet shop/db"]),
        (EDITED, 0, ("1", "0", "0"), []),
    ],
)
def test_junit(command: str, code: int, counts: tuple[str, str, str], failing: list[str]) -> None:
    ran = run(f"{command} -o junit")
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(ran.stdout)
    suites = ET.fromstring(ran.stdout)
    assert (ran.code, suites.get("tests"), suites.get("failures"), suites.get("errors")) == (code, *counts)
    cases = [
        case for case in suites.iter("testcase") if case.find("failure") is not None or case.find("error") is not None
    ]
    assert sorted(case.get("name", "") for case in cases) == failing
    assert len(list(suites.iter("property"))) == command.count("--if")
