"""Twelve conversations as an assistant has them about one cluster: each question, and what its summary must say."""

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from mcp import Client

import kwhatif
from kwhatif.cli.mcp.pages import PAGE
from kwhatif.cli.mcp.server import MOST_TOKENS
from kwhatif.render.brief import tokens
from tests.agents.talking import DEMO, part, talk
from tests.objects import manifest

PODS = {path.stem: path.read_text() for path in (DEMO / "pods").glob("*.yaml")}
WEB = json.dumps(
    manifest(
        "Deployment",
        {"name": "promo", "namespace": "shop"},
        spec={
            "replicas": 3,
            "selector": {"matchLabels": {"app": "promo"}},
            "template": {
                "metadata": {"labels": {"app": "promo"}},
                "spec": {
                    "containers": [{"name": "main", "image": "example.com/promo:1", "resources": {"requests": {}}}]
                },
            },
        },
    )
)


class Ask(NamedTuple):
    """A call, whether its answer is yes or no (None: an error), and what the text of it must hold."""

    tool: str
    arguments: dict[str, Any]
    answer: str | None
    said: tuple[str, ...]


def yes(tool: str, *said: str, **arguments: Any) -> Ask:
    return Ask(tool, _renamed(arguments), "yes", said)


def no(tool: str, *said: str, **arguments: Any) -> Ask:
    return Ask(tool, _renamed(arguments), "no", said)


def wrong(tool: str, *said: str, **arguments: Any) -> Ask:
    return Ask(tool, _renamed(arguments), None, said)


def _renamed(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in arguments.items()}


CONVERSATIONS: dict[str, list[Ask]] = {
    "why is my pod pending": [
        yes("queue", "5 pods pending: 3 unschedulable", "shop/report"),
        yes("queue", "NodeResourcesFit", pods=["shop/report"], explain=True),
        no("advise", "shop/report", manifests=["pod/shop/report"]),
        yes("queue", "fits on", pods=["shop/report"], if_=["add 1 node like general-a1"]),
    ],
    "can this node be drained": [
        no("drain", "DaemonSet", nodes=["general-a1"]),
        no("drain", "general-a1 cannot be drained", "--force", nodes=["general-a1"], ignore_daemonsets=True),
        yes("drain", "general-a1 can be drained", nodes=["general-a1"], ignore_daemonsets=True, force=True),
        wrong("drain", "not found", nodes=["general-a7"]),
        yes("drain", "batch-a1", nodes=["pool=batch"], each=True, ignore_daemonsets=True),
    ],
    "what if a zone fails": [
        no("outage", each="topology.kubernetes.io/zone"),
        no("outage", nodes=["topology.kubernetes.io/zone=eu-west-1a"]),
        wrong("outage", "name nodes, or their labels"),
    ],
    "may this pull request be merged": [
        wrong("gate", "manifest 1", manifests=[WEB.replace("replicas", "replica")]),
        yes("gate", "By the default policy", "Deployment shop/promo", manifests=[WEB]),
        no("gate", "unschedulable", manifests=[PODS["impossible"]]),
        wrong("gate", "policy", manifests=[WEB], policy="apiVersion: kwhatif.dev/v1\nkind: Policy\nnonsense: 1\n"),
    ],
    "how many more fit": [
        yes("capacity", "more pods of Deployment shop/web fit", manifests=["deploy/shop/web"]),
        no("capacity", manifests=["deploy/shop/web"], target=500),
        yes("capacity", manifests=["deploy/shop/web"], target=100, add_nodes_like="general-a1"),
        wrong("capacity", "--target", manifests=["deploy/shop/web"], add_nodes_like="general-a1"),
    ],
    "whom does it evict": [
        yes("preempt", "would evict 1 pod of Deployment batch/etl", manifests=[PODS["checkout"]], explain=True),
        yes("threats", subject=["deploy/data/redis"], only="pending,template,class"),
        yes("who_fits", "general-a1", node="general-a1"),
    ],
    "does it get more where it runs": [
        wrong("resize", "say the new requests or limits", pod="pod/shop/api-64f75d757d-472td"),
        no("resize", pod="pod/shop/api-64f75d757d-472td", requests=["cpu=3"]),
        yes("resize", pod="pod/shop/api-64f75d757d-472td", requests=["cpu=900m"]),
    ],
    "and if the cluster were different": [
        yes("schedule", "shop/small lands on general-a1", manifests=[PODS["small"]]),
        yes("schedule", "If cordon general-a1", manifests=[PODS["small"]], if_=["cordon general-a1"], compare=True),
        wrong("schedule", "--if 'cordon general-z9'", manifests=[PODS["small"]], if_=["cordon general-z9"]),
        yes("schedule", manifests=[PODS["small"]], edits=[f"- apply: {WEB}\n- cordon: [general-a1]\n"]),
    ],
    "before the upgrade": [
        yes("upgrade", "1.37 decides as 1.36 does", to="1.37"),
        wrong("upgrade", "1.99", to="1.99"),
    ],
    "does the descheduler help": [
        no("deschedule", "never settles", policy=(DEMO / "descheduler.yaml").read_text()),
        no("deschedule", "RemoveDuplicates: 5 evictions", strategy="RemoveDuplicates"),
        wrong("deschedule", "give either --policy FILE or --strategy NAME"),
    ],
    "which nodes come and go": [
        no("autoscale", node_groups=(DEMO / "groups.yaml").read_text()),
        yes("consolidate", node_groups=(DEMO / "groups.yaml").read_text()),
        yes(
            "schedule", autoscaler="cluster-autoscaler", node_groups=(DEMO / "groups.yaml").read_text(), manifests=[WEB]
        ),
    ],
    "what will hurt": [
        no("audit", "high", only="outage,drain", fixes=1),
        yes("simulate", "settled", then=["drain general-a1 --ignore-daemonsets --force"]),
        yes("simulate", then=["scale deploy/shop/web=7"], runs=1),
    ],
}


@pytest.fixture(scope="module")
def demo() -> kwhatif.Session:
    taken_at = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
    return kwhatif.load(DEMO / "cluster.yaml", DEMO / "pending.yaml", now=taken_at)


def test_there_are_twelve_about_all_questions() -> None:
    from tests.agents.talking import TOOLS

    assert len(CONVERSATIONS) == 12
    assert {ask.tool for asks in CONVERSATIONS.values() for ask in asks} == set(TOOLS)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation(name: str, demo: kwhatif.Session) -> None:
    async def script(client: Client) -> None:
        for tool, arguments, answer, said in CONVERSATIONS[name]:
            result = await client.call_tool(tool, arguments)
            (content,) = result.content
            data = result.structured_content
            found = None if result.is_error else data["answer"]
            assert found == answer, content.text
            for phrase in said:
                assert phrase in content.text
            assert tokens(content.text) <= MOST_TOKENS
            if data is None:
                continue
            assert len(json.dumps(data["report"])) <= 2 * PAGE  # here with blanks, and escapes of what is not ASCII
            for left in data["leftOut"][:2]:
                page = await part(client, left["resource"])
                assert page["page"] == 1
                assert page["of"] == left["rows"]

    talk(script, demo)
