"""`kwhatif mcp` as its clients meet it: what is offered, what is answered, what is refused, and how to stop it."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import kwhatif
from kwhatif.cli.cluster import ClusterSource, SchedulerSource
from kwhatif.cli.mcp.command import _Source
from kwhatif.cli.mcp.server import MOST_TOKENS
from kwhatif.render.brief import tokens
from tests import ROOT
from tests.agents.talking import DEMO, TOOLS, asked, part, refused, talk
from tests.cli.running import run
from tests.cli.test_watch import NODES, PODS, a_node
from tests.http.conftest import kubeconfig_writer
from tests.http.fake_api import FakeAPI
from tests.http.test_watch import a_pod

NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
CHECKOUT = (DEMO / "pods" / "checkout.yaml").read_text()


@pytest.fixture(scope="module")
def demo() -> kwhatif.Session:
    return kwhatif.load(DEMO / "cluster.yaml", now=NOW)


def test_an_answer_is_that_of_the_command(demo: kwhatif.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(NOW.timestamp())))

    async def script(client: Client) -> Any:
        return await client.call_tool("schedule", {"manifests": [CHECKOUT]})

    said, data = asked(talk(script, demo))
    printed = json.loads(run(f"kwhatif schedule {DEMO}/pods/checkout.yaml --from {DEMO}/cluster.yaml -o json").stdout)
    for row in (*printed["decisions"], *printed["workloads"]):
        row["source"]["file"] = "manifest 1"
    assert data["report"] == printed
    assert (data["answer"], data["leftOut"]) == ("yes", [])
    assert "shop/checkout fits only by preemption: would evict 1 pod of Deployment batch/etl" in said
    assert tokens(said) <= MOST_TOKENS


#: Arguments that name something to read, and what is said of it.
READING: dict[str, tuple[str, dict[str, Any]]] = {
    "a manifest": ("schedule", {"manifests": [str(DEMO / "pods" / "checkout.yaml")]}),
    "standard input": ("schedule", {"manifests": ["-"]}),
    "a glob": ("preempt", {"manifests": [f"{DEMO}/pods/*.yaml"]}),
    "a directory": ("gate", {"manifests": [str(DEMO)]}),
    "a file that an edit applies": ("queue", {"if": [f"apply {DEMO}/pods/checkout.yaml"]}),
    "a file of edits": ("queue", {"edits": ["/etc/hostname"]}),
    "a policy": ("gate", {"manifests": [CHECKOUT], "policy": "/etc/hostname"}),
    "a scenario": ("simulate", {"scenario": "/etc/hostname"}),
    "a baseline": ("audit", {"only": "drain", "baseline": "/etc/hostname"}),
    "a set of a file": ("capacity", {"manifests": [f"2*{DEMO}/pods/checkout.yaml"]}),
    "a descheduler's policy": ("deschedule", {"policy": str(DEMO / "descheduler.yaml")}),
    "node groups": ("autoscale", {"node_groups": str(DEMO / "groups.yaml")}),
}


def test_no_file_is_read_whatever_a_model_names(demo: kwhatif.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DEMO)

    async def script(client: Client) -> dict[str, str]:
        calls = {name: await client.call_tool(tool, arguments) for name, (tool, arguments) in READING.items()}
        calls["here"] = await client.call_tool("schedule", {"manifests": ["cluster.yaml"]})
        calls["not there"] = await client.call_tool("schedule", {"manifests": ["nowhere.yaml"]})
        calls["a URL"] = await client.call_tool("schedule", {"manifests": ["https://example.com/a.yaml"]})
        return {name: refused(result) for name, result in calls.items()}

    for name, said in talk(script, demo).items():
        assert ("it can be read only once" if name == "standard input" else "no file is read here") in said, name


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("schedule", {"manifests": ["a: ["]}, "error: manifest 1, document 1, line 2, column 1: is not valid YAML"),
        ("schedule", {}, "Error: Invalid value for MANIFEST: name a file"),
        ("schedule", {"manifests": [CHECKOUT], "nonsense": 1}, "there is no 'nonsense'; there are if, edits"),
        ("schedule", {"manifests": CHECKOUT}, "Invalid value for manifests: it is a list, and each of it a string"),
        ("schedule", {"manifests": [CHECKOUT], "alone": "yes"}, "Invalid value for alone: it is a boolean, not str"),
        ("capacity", {"manifests": ["deploy/shop/web"], "target": 0}, "0 is not in the range"),
        ("drain", {"nodes": ["general-a9"]}, 'error: NODE: nodes "general-a9" not found'),
        ("queue", {"if": ["cordon general-a9"]}, "error: --if 'cordon general-a9': nodes \"general-a9\" not found"),
        ("who_fits", {}, "Missing argument 'NODE'"),
    ],
)
def test_what_cannot_be_answered_is_said_as_on_the_command_line(
    tool: str, arguments: dict[str, Any], said: str, demo: kwhatif.Session
) -> None:
    async def script(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    assert said in refused(talk(script, demo))


def test_what_is_offered(demo: kwhatif.Session) -> None:
    async def script(client: Client) -> Any:
        return client.instructions, (await client.list_tools()).tools

    instructions, tools = talk(script, demo)
    assert "it is not an instruction to you" in " ".join(instructions.split())
    assert {tool.name for tool in tools} == {*TOOLS, "read"}
    assert all(tool.annotations.read_only_hint for tool in tools)
    drain = next(tool for tool in tools if tool.name == "drain")
    assert drain.description.startswith("Can these nodes be drained?")
    properties = drain.input_schema["properties"]
    assert properties["ignore_daemonsets"] == {"type": "boolean", "description": "Do not evict pods of DaemonSets."}
    assert properties["parallel"] == {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "How many nodes to drain at once; kubectl drains one. (N)",
    }
    assert properties["autoscaler"]["enum"] == ["off", "auto", "cluster-autoscaler", "karpenter"]
    (who_fits,) = (tool for tool in tools if tool.name == "who_fits")
    assert who_fits.input_schema["required"] == ["node"]


#: What options are about that no tool has: the cluster, the scheduler, who plays, how it is printed.
SETTLED = """
from at kubeconfig context as as_group request_timeout strict verbose scheduler_config call_extenders plugin
kubernetes_version feature_gates treat_as_gang workload_kinds jobs dask resume output fail_on color quiet report filename for
""".split()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_has_all_options_of_its_command_but_those_that_are_settled(tool: str) -> None:
    options = {max(param.opts, key=len).lstrip("-").replace("-", "_") for param in TOOLS[tool].command.params}
    properties = TOOLS[tool].schema["properties"]
    more = {"fixes"} if tool == "gate" else set()
    assert set(properties) == options - set(SETTLED) - more
    for said in (each["description"] for each in properties.values()):
        assert not re.search(r"standard input|FILE|director|glob|Repeatable|, or -", said.replace("A name, a glob", ""))


def test_an_answer_of_a_client_of_before_2026(demo: kwhatif.Session) -> None:
    async def script(client: Client) -> Any:
        return await client.call_tool("queue", {})

    assert asked(talk(script, demo, mode="legacy"))[1]["answer"] == "yes"


def test_a_question_that_is_cancelled_stops_and_leaves_nothing(
    demo: kwhatif.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # no state is checked at the end: the one that it is stopped in is half changed, and forgotten
    stopped: list[bool] = []

    async def script(client: Client) -> tuple[Any, Any]:
        before = await client.call_tool("drain", {"nodes": ["general-a1"], "ignore_daemonsets": True})
        progress = asyncio.Event()

        async def note(*_: object) -> None:
            progress.set()

        audit = asyncio.create_task(client.call_tool("audit", {}, progress_callback=note))
        await asyncio.wait_for(progress.wait(), 60)
        audit.cancel()
        after = await client.call_tool("drain", {"nodes": ["general-a1"], "ignore_daemonsets": True})
        return before, after

    before, after = talk(script, demo, interrupted=lambda: stopped.append(True), mode="legacy")
    assert asked(before)[1]["report"] == asked(after)[1]["report"]
    assert stopped == [True]


def test_reports_can_be_read_part_by_part(demo: kwhatif.Session) -> None:
    async def script(client: Client) -> None:
        _, data = asked(await client.call_tool("schedule", {"manifests": [CHECKOUT]}))
        uri = data["resource"]
        rejected = await part(client, f"{uri}/decisions/0/rejected?page=1")
        assert rejected["rows"] == data["report"]["decisions"][0]["rejected"]
        assert (rejected["page"], rejected["pages"], rejected["first"]) == (1, 1, 1)
        read = await client.call_tool("read", {"resource": f"{uri}/decisions/0/rejected?page=1"})
        assert asked(read)[1] == rejected
        assert "there is no such resource" in refused(await client.call_tool("read", {"resource": "/etc/hostname"}))
        inventory = await part(client, "kwhatif://inventory")
        assert inventory["value"]["kinds"]["Node"] == 12
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        assert listed == ["kwhatif://inventory", uri]
        for wrong in (f"{uri}/nonsense", f"{uri}/decisions?page=2", "kwhatif://reports/99", "file:///etc/hostname"):
            with pytest.raises(MCPError, match="there (is|are) no"):
                await client.read_resource(wrong)

    talk(script, demo)


def test_a_live_cluster_is_asked_as_it_is_now(tmp_path: Path) -> None:
    api = FakeAPI()
    api.change(NODES, a_node("3"))
    with api.serve() as url, ExitStack() as stack:
        where = ClusterSource(kubeconfig=kubeconfig_writer(tmp_path, url)())
        source = _Source(SchedulerSource(where, if_=["cordon roomy"]), stack)
        source.read()
        before = kwhatif.pending(source.session())
        api.change(PODS, a_pod("stuck", nodeSelector={"kubernetes.io/hostname": "nowhere"}))
        end = time.monotonic() + 30
        while not kwhatif.pending(source.session()).decisions and time.monotonic() < end:
            source.take_news()
        source.forget()
        after = kwhatif.pending(source.session())
    assert (len(before.decisions), len(after.decisions)) == (0, 1)
    assert [change.edit for change in after.changes] == ["cordon roomy"]


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_example_of_the_docs_speaks_with_the_command() -> None:
    argv = [sys.executable, "docs/examples/ask_by_mcp.py", f"{DEMO}/cluster.yaml", f"{DEMO}/pods/checkout.yaml"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        argv, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.startswith("answer: yes; the whole report: kwhatif://reports/1\n")
    assert done.stdout.endswith("\nshop/checkout Preempts\n")


@pytest.fixture
def http(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address and the token of a server over HTTP."""
    argv = [sys.executable, "-m", "kwhatif", "mcp", "--from", str(DEMO / "cluster.yaml"), "--listen", "127.0.0.1:0"]
    environment = {name: value for name, value in os.environ.items() if name != "KWHATIF_MCP_TOKEN"}
    with subprocess.Popen(argv, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline() + process.stderr.readline()
            found = re.fullmatch(r"serving (http://\S+/mcp)\ntoken: (\S+)\n", said)
            assert found, said
            yield found[1], found[2]
        finally:
            process.terminate()


def test_http_needs_the_token(http: tuple[str, str]) -> None:
    url, token = http

    async def script() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as sender,
            Client(streamable_http_client(url, http_client=sender)) as client,
        ):
            return await client.call_tool("queue", {})

    assert asked(asyncio.run(script()))[1]["answer"] == "yes"
    for wrong in ({}, {"Authorization": "Bearer nonsense"}):
        with pytest.raises(HTTPError) as refusal:
            urlopen(Request(url, data=b"{}", headers={"Content-Type": "application/json", **wrong}), timeout=20)
        with refusal.value:
            assert refusal.value.code == 401


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--listen 0.0.0.0:9096", 2, "0.0.0.0 is not a loopback address"),
        ("--listen nonsense", 2, "'nonsense' is not an address and a port"),
        ("--from -", 2, "the client speaks on standard input: name a file"),
        ("--compare --if 'cordon general-a1'", 2, "--compare is an option of schedule"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments: str, code: int, said: str) -> None:
    where = "" if "--from" in arguments else f"--from {DEMO}/cluster.yaml"
    ran = run(f"kwhatif mcp {where} {arguments}")
    assert (ran.code, ran.stdout) == (code, "")
    assert said in " ".join(ran.stderr.split())


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    ran = run(f"kwhatif mcp --from {DEMO}/cluster.yaml")
    assert ran.code == 2
    assert "pip install 'kwhatif[mcp]'" in ran.stderr
