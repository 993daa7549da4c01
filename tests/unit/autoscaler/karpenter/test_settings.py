"""Karpenter's own settings: what each changes, and where they are read."""

import io
import json
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.autoscaler.karpenter.settings import Settings, read_settings
from kwhatif.kube.model.caveat.autoscaling import AutoscalerSettingsAssumed, AutoscalerSettingsRead, FlagsNotModelled
from kwhatif.sources.decoding.templates import kept_settings
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.save import Moment, saved_objects
from tests.karpenter.objects import TYPES, Json, asked, node, pod, pool, type_
from tests.karpenter.play import NOW, play
from tests.objects import manifest

WEB = {"matchLabels": {"app": "web"}}
HOST: Json = {"topologyKey": "kubernetes.io/hostname", "labelSelector": WEB}
PREFERENCES: dict[str, Json] = {
    "spread": {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"} | HOST]},
    "anti-affinity": {
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": HOST}]
            }
        }
    },
}
LARGE = {"key": "example.com/cpu", "operator": "In", "values": ["8"]}
PREFERS_LARGE: Json = {
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [LARGE]}}
            ]
        }
    }
}


def made(*objects: Any, flags: tuple[str, ...], types: list[Json] | None = None) -> list[Json]:
    found: list[Json] = play(asked("autoscale", *objects, types=types, flags=list(flags)))["newNodes"]
    return found


@pytest.mark.parametrize("kind", PREFERENCES)
def test_ignored_preferences_do_not_part_pods(kind: str) -> None:
    pods = [pod(f"p{number}", cpu="100m", **PREFERENCES[kind]) for number in range(2)]
    assert len(made(pool(), *pods, flags=())) == 2
    assert len(made(pool(), *pods, flags=("--preference-policy=Ignore",))) == 1


def test_ignored_preferences_leave_all_types() -> None:
    wanted = pod("p", **PREFERS_LARGE)
    assert [len(each["instanceTypes"]) for each in made(pool(), wanted, flags=())] == [1]
    assert [len(each["instanceTypes"]) for each in made(pool(), wanted, flags=("--preference-policy", "Ignore"))] == [3]


def test_min_values_give_way_for_the_first_pod_of_a_node_only() -> None:
    choosy = pool(requirements=[{"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 5}])
    assert made(choosy, pod("p"), flags=()) == []
    (found,) = made(choosy, pod("p"), flags=("--min-values-policy=BestEffort",))
    assert "node.kubernetes.io/instance-type Exists [] minValues=3" in found["requirements"]
    both = made(choosy, pod("p"), pod("q", cpu="1500m"), flags=("--min-values-policy=BestEffort",))
    # A node for both would leave fewer types than the first of them did.
    assert sorted(each["pods"][0] for each in both) == ["default/p", "default/q"]


def test_without_its_gate_no_capacity_is_reserved() -> None:
    offered = {"capacityType": "reserved", "zone": "a", "price": 0.01, "reservationID": "r", "reservationCapacity": 1}
    machine = type_("m", 2, 0.1)
    machine["offerings"].append(offered)
    pods = [pod(f"p{number}", cpu="1800m") for number in range(2)]
    strict = play(asked("autoscale", pool(), *pods, types=[machine]))
    assert (len(strict["newNodes"]), len(strict["ignored"])) == (1, 1)
    assert len(made(pool(), *pods, types=[machine], flags=("-feature-gates=ReservedCapacity=false",))) == 2


SPOT = "--feature-gates=SpotToSpotConsolidation=true"


@pytest.mark.parametrize(
    ("cheaper", "flags", "said"),
    [
        (20, (), "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"),
        (20, (SPOT,), ""),
        (
            14,
            (SPOT,),
            "SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to"
            " consolidate, got 14",
        ),
    ],
)
def test_a_spot_node_goes_for_the_fifteen_cheapest_types(cheaper: int, flags: tuple[str, ...], said: str) -> None:
    types = [type_(f"s{number:02}", 2, 0.1 + number / 100, spot=0.5) for number in range(cheaper)]
    there = node("n", "big", capacity_type="spot", cpu=8)
    question = asked("consolidate", pool(), there, pod("p", on="n"), types=[*types, type_("big", 8, 1.0, spot=0.5)])
    found = play(question | {"flags": list(flags)})
    if said:
        assert f"Unconsolidatable: {said}" in [text for row in found["kept"] for text in row["messages"]]
        assert not found["commands"]
        return
    (command,) = found["commands"]
    (claim,) = command["replacements"]
    assert claim["instanceTypes"] == [f"s{number:02}" for number in range(15)]
    assert "karpenter.sh/capacity-type In [spot]" in claim["requirements"]


@pytest.mark.parametrize(
    ("texts", "settings"),
    [
        (("preference-policy=Respect", "min-values-policy=Strict"), {}),
        (("batch-idle-duration=2500ms",), {"idle": 2.5}),
        (("feature-gates=NodeRepair=true, SpotToSpotConsolidation=1,Other=false",), {"spot_to_spot": True}),
        (("ignore-dra-requests=true",), {}),
    ],
)
def test_settings_as_karpenter_reads_them(texts: tuple[str, ...], settings: Json) -> None:
    given = tuple(text.partition("=")[0] for text in texts if not text.startswith("ignore"))
    assert read_settings("", texts) == Settings(given=tuple(sorted(given)), **settings)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("preference-policy=Perhaps", "preference-policy=Perhaps"),
        ("feature-gates=SpotToSpotConsolidation", "feature-gates=SpotToSpotConsolidation"),
        ("feature-gates=NodeOverlay=true", "feature-gates: NodeOverlay=true"),
        ("ignore-dra-requests=false", "ignore-dra-requests=false"),
        ("min-values-policy=$MIN_VALUES_POLICY", "min-values-policy=$MIN_VALUES_POLICY"),
        ("batch-idle-duration=soon", "batch-idle-duration=soon"),
    ],
)
def test_what_is_not_modelled_or_understood_is_named(text: str, left: str) -> None:
    assert read_settings("", (text,)) == Settings(unmodelled=(left,))


def test_a_flag_is_stronger_than_the_environment_and_nothing_else_is_kept() -> None:
    variables = [("PREFERENCE_POLICY", "Ignore"), ("MIN_VALUES_POLICY", None), ("PASSWORD", "secret")]
    arguments = ("--token=secret", "--preference-policy", "Respect", "--ignore-dra-requests")
    assert kept_settings(variables, arguments) == (
        "ignore-dra-requests=true",
        "min-values-policy=$MIN_VALUES_POLICY",
        "preference-policy=Respect",
    )


def karpenter(**environment: str) -> Json:
    variables = [{"name": name, "value": value} for name, value in environment.items()]
    image = "public.ecr.aws/karpenter/controller:1.14.1@sha256:abc"
    containers = [{"name": "side", "image": "x"}, {"name": "controller", "image": image, "env": variables}]
    return manifest(
        "Deployment",
        {"name": "karpenter", "namespace": "kube-system"},
        spec={
            "selector": {"matchLabels": {"app": "k"}},
            "template": {"metadata": {"labels": {"app": "k"}}, "spec": {"containers": containers}},
        },
    )


def answer(*more: Json) -> kwhatif.Report:
    pods = [pod(f"p{number}", cpu="100m", **PREFERENCES["spread"]) for number in range(2)]
    items = [pool(), *pods, *more]
    cluster = kwhatif.load(kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items})))
    return kwhatif.autoscale(cluster, autoscaler="karpenter", instance_types=TYPES, at=NOW)


def said(report: kwhatif.Report, kind: type) -> Any:
    return next((each for each in report.caveat_details if isinstance(each, kind)), None)


def test_its_deployment_says_them_in_a_dump_and_in_a_snapshot() -> None:
    assert said(answer(), AutoscalerSettingsAssumed) is not None
    deployment = karpenter(
        PREFERENCE_POLICY="Ignore", FEATURE_GATES="CapacityBuffer=true", MIN_VALUES_POLICY="?", CLUSTER="secret"
    )
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": [deployment]}).encode()
    collected = collect_dump(["-"], stdin=io.BytesIO(dump))
    objects = saved_objects(collected, taken_at=Moment(""), images=False, anonymize=False).objects
    saved = json.loads(msgspec.json.encode(next(each for each in objects if each.metadata.name == "karpenter")))
    assert "secret" not in json.dumps(saved)
    for given, wrong in ((deployment, "min-values-policy=?"), (saved, "min-values-policy=")):
        report = answer(given)
        assert report.autoscaler is not None
        assert len(report.autoscaler.rounds[0].new_nodes) == 1
        assert said(report, AutoscalerSettingsAssumed) is None
        read = said(report, AutoscalerSettingsRead)
        assert (read.source, read.flags) == ("Deployment kube-system/karpenter", ("preference-policy",))
        assert said(report, FlagsNotModelled).flags == ("feature-gates: CapacityBuffer=true", wrong)
    anonymous = saved_objects(collected, taken_at=Moment(""), images=False, anonymize=True).objects
    assert b"policy" not in msgspec.json.encode(anonymous)
