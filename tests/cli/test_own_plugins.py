"""The examples of docs/plugins.md, from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.builders import PodBuilder, budget, node, pod, selector
from tests.cli.running import Ran, run

EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The examples can be imported, and files are written where nobody else is."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)


def write(name: str, *objects: Any) -> str:
    import msgspec

    kinds = {"PodBuilder": "v1", "NodeBuilder": "v1", "PodDisruptionBudget": "policy/v1"}
    items = []
    for obj in objects:
        built = obj.build() if hasattr(obj, "build") else obj
        items.append(msgspec.to_builtins(built) | {"apiVersion": kinds[type(obj).__name__]})
        items[-1].setdefault("kind", type(built).__name__)
    Path(name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return name


def config(**profile: Any) -> str:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    Path("config.json").write_text(json.dumps(head | {"profiles": [profile]}))
    return "config.json"


def decision(ran: Ran) -> Any:
    assert ran.stderr == ""
    (found,) = json.loads(ran.stdout)["decisions"]
    return found


# --- a quota per team ---------------------------------------------------------------------------------


def team_pod(name: str, team: str, cpu: str, priority: int = 0) -> PodBuilder:
    return pod(name).labels(team=team).cpu(cpu).priority(priority)


def ask_quota(candidate: PodBuilder, quota: str = "4") -> Any:
    """A cluster with room for all, where team web uses 3 cpu on two nodes."""
    write(
        "cluster.json",
        node("n1").allocatable(cpu="16"),
        node("n2").allocatable(cpu="16"),
        team_pod("w1", "web", "2").on("n1").started("2026-01-01T00:00:00Z"),
        team_pod("w2", "web", "1").on("n2").started("2026-01-02T00:00:00Z"),
        team_pod("b1", "batch", "9").on("n2").started("2026-01-03T00:00:00Z"),
    )
    write("pod.json", candidate)
    config(pluginConfig=[{"name": "TeamQuota", "args": {"cpu": {"web": quota}}}])
    return decision(
        run(
            "kwhatif schedule pod.json --no-admission --from cluster.json --plugin team_quota:TeamQuota"
            " --scheduler-config config.json -o json --fail-on none"
        )
    )


def test_within_the_quota_a_pod_is_placed() -> None:
    assert ask_quota(team_pod("new", "web", "1"))["outcome"] == "Placed"


def test_a_team_without_a_quota_takes_what_it_likes() -> None:
    assert ask_quota(team_pod("new", "batch", "6"))["outcome"] == "Placed"


def test_beyond_the_quota_a_pod_stays_out() -> None:
    found = ask_quota(team_pod("new", "web", "2"))
    assert (found["outcome"], found["unschedulablePlugins"]) == ("Unschedulable", ["TeamQuota"])
    assert found["message"].startswith("0/2 nodes are available: 2 team web has too little cpu left. ")
    assert found["rejected"][0]["evidence"] == [
        {"type": "Note", "text": "team web uses 3000m of 4000m cpu, the pod wants 2000m"}
    ]


def test_preemption_evicts_pods_of_the_same_team_only() -> None:
    found = ask_quota(team_pod("new", "web", "2", priority=10))
    victims = {row["node"]: [victim["pod"] for victim in row["victims"]] for row in found["preemption"]["candidates"]}
    assert victims == {"n1": ["default/w1"], "n2": ["default/w2"]}


def test_more_than_the_whole_quota_is_hopeless() -> None:
    found = ask_quota(team_pod("new", "web", "5", priority=10))
    assert {row["code"] for row in found["rejected"]} == {"UnschedulableAndUnresolvable"}
    assert found["preemption"]["candidates"] == []


def test_a_configuration_that_knows_nothing_of_it() -> None:
    write("cluster.json", node("n1"))
    write("pod.json", pod())
    text = "kwhatif schedule pod.json --no-admission --from cluster.json --scheduler-config " + config(
        plugins={"multiPoint": {"enabled": [{"name": "TeamQuota"}]}}
    )
    ran = run(text)
    assert ran.code == 3
    assert ran.stderr == (
        'error: config.json, line 1: profiles[0].plugins.multiPoint.enabled[0]: PreFilterPlugin "TeamQuota" does not exist\n'
    )


# --- a preemption that spares young pods --------------------------------------------------------------


def ask_preemption(*options: str, **args: Any) -> Any:
    """Of two nodes kube-scheduler would rather take n2, whose pod has run for five minutes."""
    write(
        "cluster.json",
        node("n1").allocatable(cpu="4"),
        node("n2").allocatable(cpu="4"),
        pod("old").on("n1").cpu("4").started("2026-01-01T11:00:00Z"),
        pod("young").on("n2").cpu("4").started("2026-01-01T11:55:00Z"),
        budget("none", 9, selector(app="x")),
    )
    write("pod.json", pod("new").cpu("1").priority(10))
    config(pluginConfig=[{"name": "SpareYoung", "args": {"now": "2026-01-01T12:00:00Z"} | args}])
    return decision(
        run(
            "kwhatif preempt pod.json --no-admission --from cluster.json --scheduler-config config.json -o json --fail-on none "
            + " ".join(options)
        )
    )


def test_kube_scheduler_itself_evicts_the_young_one() -> None:
    assert ask_preemption()["node"] == "n2"


def test_the_young_one_is_spared() -> None:
    found = ask_preemption("--plugin spare_young:SpareYoung")
    assert (found["node"], found["ties"]) == ("n1", ["n1"])
    (rejected,) = found["preemption"]["rejected"]
    assert (rejected["node"], rejected["reasons"]) == ("n2", ["No preemption victims found for incoming pod"])


def test_how_old_is_old_enough_can_be_said() -> None:
    assert ask_preemption("--plugin spare_young:SpareYoung", minutes=5)["node"] == "n2"


def test_where_all_are_young_nobody_is_evicted() -> None:
    found = ask_preemption("--plugin spare_young:SpareYoung", minutes=120)
    assert (found["outcome"], found["preemption"]["candidates"]) == ("Unschedulable", [])


# --- plugins that fail --------------------------------------------------------------------------------

BROKEN = """
class Broken:
    name = "Broken"
    def pre_filter(self, pod, snapshot):
        return 1 / 0
"""


def ask_broken() -> Ran:
    Path("broken_plugin_of_a_test.py").write_text(BROKEN)
    write("cluster.json", node("n1"))
    write("pod.json", pod("web", "shop"))
    return run("kwhatif schedule pod.json --no-admission --from cluster.json --plugin broken_plugin_of_a_test:Broken")


def test_a_plugin_that_raises_is_named_and_there_is_no_traceback() -> None:
    ran = ask_broken()
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == (
        "error: plugin Broken failed in PreFilter for pod shop/web: ZeroDivisionError: division by zero\n"
    )


def test_the_traceback_is_there_for_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWHATIF_DEBUG", "1")
    assert "return 1 / 0" in ask_broken().stderr


def test_a_plugin_that_is_not_there() -> None:
    Path("cluster.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    ran = run("kwhatif schedule pod.json --no-admission --from cluster.json --plugin nowhere_at_all:Plugin")
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == (
        "error: --plugin nowhere_at_all:Plugin: nowhere_at_all cannot be imported: ModuleNotFoundError:"
        " No module named 'nowhere_at_all'\n"
    )


def test_extenders_without_a_configuration_are_a_mistake() -> None:
    ran = run("kwhatif schedule pod.json --no-admission --from cluster.json --call-extenders")
    assert ran.code == 2
    assert "--call-extenders" in ran.stderr
