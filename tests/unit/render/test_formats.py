"""The formats for other tools: valid by their schemas, whatever names and messages hold."""

import json
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema
import yaml

from kwhatif.render.formats import FORMATS, to_json, to_yaml
from kwhatif.render.gate import issues, short_paths
from kwhatif.render.safe import is_safe
from kwhatif.report import Report
from kwhatif.report.decision import FindingRow, PolicyRow, WorkloadRow
from kwhatif.report.inputs import ProblemRow, SourceRow
from kwhatif.report.row import Document
from tests import FIXTURES

SCHEMAS = FIXTURES / "schemas"

WEB = SourceRow(file="./deploy/web.yaml", line=12, object="Deployment shop/web")
DB = SourceRow(file="deploy/db.yaml", line=3, object="StatefulSet shop/db")
FAILS = FindingRow(
    rule="unschedulable",
    level="fail",
    message="stays pending: 0/3 nodes are available: 3 Insufficient cpu.",
    workload=WEB.object,
    pods=("shop/web-1",),
    source=WEB,
)
WARNS = FindingRow(rule="preemption", level="warn", message="evicts batch/etl", workload=WEB.object, source=WEB)
EXCUSED = FindingRow(
    rule="placement/gpu",
    level="fail",
    message="may land on gpu1",
    workload=DB.object,
    source=DB,
    suppressed="for now",
    suppressed_by="annotation",
)
BY_POLICY = FindingRow(
    rule="denied", level="fail", message="x", workload=DB.object, source=DB, suppressed="y", suppressed_by="exception"
)
NOWHERE = FindingRow(rule="caveats", level="fail", message="no budgets were read")
BROKEN = ProblemRow(
    where="deploy/api.yaml, document 1, line 7 (Deployment shop/api)",
    message="is not a quantity",
    field="spec.x",
    hint="write 1",
    source=SourceRow(file="deploy/api.yaml", line=7, object="Deployment shop/api"),
)
UNREADABLE = ProblemRow(where="deploy/gone.yaml", message="cannot be read")

#: Every character that means something to one of the formats, and some that mean something to a terminal.
HOSTILE = "]]>&<b>\"'::error::x%0A\r\n::warning::|`@me #1 [a](http://x) {0} \x1b[31m\u202e\uffff\ud800$(id)"


def report(*findings: FindingRow, problems: tuple[ProblemRow, ...] = (), caveats: tuple[str, ...] = ()) -> Report:
    rows = (
        WorkloadRow(name=WEB.object, source=WEB, replicas=2, placed=1, unschedulable=1, message="1 of 2 placed"),
        WorkloadRow(name=DB.object, source=DB, replicas=1, placed=1, message="placed on n1"),
    )
    policy = PolicyRow(verdict="fail" if findings else "pass", findings=findings)
    return Report(command="gate", workloads=rows, policy=policy, problems=problems, caveats=caveats)


def hostile() -> Report:
    source = SourceRow(file=HOSTILE, line=1, object=HOSTILE)
    finding = FindingRow(rule=f"expressions/{HOSTILE}", level="fail", message=HOSTILE, workload=HOSTILE, source=source)
    excused = FindingRow(
        rule="denied", level="warn", message=HOSTILE, workload=HOSTILE, suppressed=HOSTILE, suppressed_by="exception"
    )
    return Report(
        command="gate",
        workloads=(WorkloadRow(name=HOSTILE, source=source, replicas=1, message=HOSTILE),),
        policy=PolicyRow(verdict="fail", findings=(finding, excused)),
        problems=(ProblemRow(where=HOSTILE, message=HOSTILE, field=HOSTILE, hint=HOSTILE, source=source),),
        caveats=(HOSTILE,),
    )


REPORTS = {
    "nothing found": report(),
    "everything at once": report(
        FAILS, WARNS, EXCUSED, BY_POLICY, NOWHERE, problems=(BROKEN, UNREADABLE), caveats=("not modelled",)
    ),
    "the same rule twice for one workload": report(FAILS, FAILS),
    "nothing to judge": Report(command="gate", policy=PolicyRow(verdict="pass")),
    "hostile names": hostile(),
}


@cache
def junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd"))


def check_json(text: str, schema: str) -> object:
    data = json.loads(text)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(
        json.loads((SCHEMAS / f"{schema}.json").read_text()), format_checker=checker
    ).validate(data)
    return data


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
def test_junit_is_valid(made: Report) -> None:
    junit_schema().validate(FORMATS["junit"](made))


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
def test_sarif_is_valid(made: Report) -> None:
    (run,) = check_json(FORMATS["sarif"](made), "sarif-2.1.0")["runs"]  # type: ignore[index]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [issue.rule for issue in issues(made)]


@pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)
def test_gitlab_code_quality_is_valid_and_fingerprints_differ(made: Report) -> None:
    rows = check_json(FORMATS["gitlab"](made), "gitlab-code-quality")
    assert isinstance(rows, list)
    assert len({row["fingerprint"] for row in rows}) == len(rows)


def test_the_schemas_refuse_what_is_wrong() -> None:
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        junit_schema().validate("<testsuites><testcase/></testsuites>")
    with pytest.raises(jsonschema.ValidationError):
        check_json('{"version": "2.1.0", "runs": [{}]}', "sarif-2.1.0")
    with pytest.raises(jsonschema.ValidationError):
        check_json('[{"description": "x"}]', "gitlab-code-quality")


# --- JUnit -----------------------------------------------------------------------------------------------


def test_junit_has_a_suite_per_file_and_a_test_per_workload() -> None:
    root = ET.fromstring(FORMATS["junit"](REPORTS["everything at once"]))
    reported = {
        suite.get("name"): {case.get("name"): [child.tag for child in case] for case in suite}
        for suite in root.iter("testsuite")
    }
    assert reported == {
        "deploy/web.yaml": {"Deployment shop/web": ["failure", "system-out"]},
        "deploy/db.yaml": {"StatefulSet shop/db": ["system-out"]},
        "deploy/api.yaml": {"Deployment shop/api": ["error"]},
        "policy": {"deploy/gone.yaml": ["error"], "caveats": ["failure"]},
    }
    assert dict(root.attrib) == {"name": "kwhatif", "tests": "5", "failures": "2", "errors": "2"}


def test_a_junit_failure_says_what_and_where() -> None:
    root = ET.fromstring(FORMATS["junit"](report(FAILS, WARNS)))
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("type") == "unschedulable"
    assert failure.get("message") == FAILS.message
    assert failure.text == f"deploy/web.yaml:12: Deployment shop/web: {FAILS.message}"
    assert root.findtext(".//system-out") == "1 of 2 placed\nwarning: preemption: evicts batch/etl"


def test_what_is_suppressed_is_reported_and_fails_no_test() -> None:
    root = ET.fromstring(FORMATS["junit"](report(EXCUSED)))
    assert root.get("failures") == "0"
    said = [element.text for element in root.iter("system-out")]
    assert said == ["1 of 2 placed", "placed on n1\nerror: placement/gpu: may land on gpu1 (suppressed: for now)"]


# --- SARIF -----------------------------------------------------------------------------------------------


def sarif_run(made: Report) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(FORMATS["sarif"](made))["runs"][0]
    return run


def test_sarif_points_at_the_manifest() -> None:
    run = sarif_run(report(FAILS))
    assert run["results"] == [
        {
            "ruleId": "unschedulable",
            "ruleIndex": 0,
            "level": "error",
            "message": {"text": f"Deployment shop/web: {FAILS.message}"},
            "partialFingerprints": {"kwhatif/v1": run["results"][0]["partialFingerprints"]["kwhatif/v1"]},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "deploy/web.yaml"},
                        "region": {"startLine": 12},
                    },
                    "logicalLocations": [{"fullyQualifiedName": "Deployment shop/web", "kind": "object"}],
                }
            ],
        }
    ]


def test_sarif_tells_who_has_suppressed_what_and_why() -> None:
    results = sarif_run(report(EXCUSED, BY_POLICY))["results"]
    assert [result["suppressions"] for result in results] == [
        [{"kind": "inSource", "justification": "for now"}],
        [{"kind": "external", "justification": "y"}],
    ]


def test_sarif_rules_are_described_and_results_refer_to_them() -> None:
    run = sarif_run(REPORTS["everything at once"])
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {"id": "manifest", "shortDescription": {"text": "A manifest cannot be read"}} in rules
    assert run["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [{"level": "note", "message": {"text": "not modelled"}}],
        }
    ]


def test_a_sarif_message_holds_no_placeholders_and_no_links() -> None:
    found = FindingRow(rule="denied", level="fail", message="{0} and [text](http://x)")
    (result,) = sarif_run(report(found))["results"]
    assert result["message"]["text"] == "{{0}} and [text] (http://x)"


def test_a_fingerprint_stays_when_the_message_changes() -> None:
    def fingerprint(message: str) -> str:
        found = FindingRow(rule="denied", level="fail", message=message, workload=WEB.object, source=WEB)
        (result,) = sarif_run(report(found))["results"]
        return result["partialFingerprints"]["kwhatif/v1"]

    assert fingerprint("one") == fingerprint("two")


# --- GitHub and GitLab -----------------------------------------------------------------------------------


def test_github_annotations() -> None:
    assert FORMATS["github"](REPORTS["everything at once"]).splitlines() == [
        "::error file=deploy/api.yaml,line=7,title=kwhatif%3A manifest::"
        "Deployment shop/api: spec.x: is not a quantity (write 1)",
        "::error title=kwhatif%3A manifest::deploy/gone.yaml: cannot be read",
        "::error file=deploy/web.yaml,line=12,title=kwhatif%3A unschedulable::"
        "Deployment shop/web: stays pending: 0/3 nodes are available: 3 Insufficient cpu.",
        "::warning file=deploy/web.yaml,line=12,title=kwhatif%3A preemption::Deployment shop/web: evicts batch/etl",
        "::error title=kwhatif%3A caveats::no budgets were read",
    ]


def test_no_name_becomes_a_workflow_command() -> None:
    lines = FORMATS["github"](REPORTS["hostile names"]).splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"::error [^:]*::.*", line) for line in lines)
    assert all(line.count("%0A") == 0 for line in lines)  # %0A of a name is %250A


def test_gitlab_says_what_counts_and_leaves_out_what_is_suppressed() -> None:
    rows = json.loads(FORMATS["gitlab"](report(FAILS, WARNS, EXCUSED, NOWHERE)))
    assert [(row["check_name"], row["severity"], row["location"]) for row in rows] == [
        ("unschedulable", "critical", {"path": "deploy/web.yaml", "lines": {"begin": 12}}),
        ("preemption", "minor", {"path": "deploy/web.yaml", "lines": {"begin": 12}}),
        ("caveats", "critical", {"path": "kwhatif.yaml", "lines": {"begin": 1}}),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_prints_what_acts_on_a_terminal(name: str) -> None:
    printed = FORMATS[name](REPORTS["hostile names"])
    printed.encode()  # no lone surrogate
    assert "\x1b" not in printed
    if name not in ("json", "yaml"):  # those are data for programs
        assert "\u202e" not in printed


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        (["a/web.yaml", "b/web.yaml"], ["a/web.yaml", "b/web.yaml"]),
        (["x" * 40 + "/a/web.yaml", "x" * 40 + "/b/c.yaml"], ["…/a/web.yaml", "…/b/c.yaml"]),
        (["folder/" * 8 + "web.yaml", "folder/" * 8 + "c.yaml"], ["…/web.yaml", "…/c.yaml"]),
        (["team-a/" + "x" * 20 + "/web.yaml", "team-b/c.yaml"], ["…/" + "x" * 20 + "/web.yaml", "team-b/c.yaml"]),
        (["x" * 50 + ".yaml"], ["x" * 50 + ".yaml"]),
    ],
)
def test_long_paths_in_the_gates_table_lose_their_first_folders(paths: list[str], shown: list[str]) -> None:
    rows = [WorkloadRow(name="Pod a/b", source=SourceRow(file=path, line=1, object="Pod a/b")) for path in paths]
    assert list(map(short_paths(rows).get, paths)) == shown


# --- JSON and YAML: nothing in them acts on a terminal, and the data stay the same --------------------


TEXTS = [
    "plain",
    "ünï €",
    "a\u202eb",
    "x\x7f\x9b\u2028y\x85",
    "\U000e0001z",
    "\x1b[31m\u202e",
    "two\nlines",
    "tab\t\u200b",
]


class Named(Document):
    name: str
    texts: dict[str, list[str]] = {}


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_what_could_act_is_escaped(text: str) -> None:
    named = Named(name=text, texts={text: [text]})
    for written, read in ((to_json(named), json.loads), (to_yaml(named), yaml.safe_load)):
        assert read(written) == named.to_dict()
        assert is_safe(written.replace("\n", ""))


def test_other_texts_stay_as_they_are() -> None:
    named = Named(name="ünï €")
    assert "name: ünï €\n" in to_yaml(named)
    assert '"ünï €"' in to_json(named)
