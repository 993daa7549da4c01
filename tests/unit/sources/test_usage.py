"""Files of usage, in each of their forms, and everything that may be wrong with them."""

import json
from io import BytesIO
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.sources.manifests.given import text
from kwhatif.sources.usage import read_usage

NANO = 10**9
MIB = 2**20 * NANO
#: Namespace, pod, container, nano-units of cpu and memory.
WEB = ("shop", "web-1", "main", NANO // 4, 64 * MIB)
HEAD = "NAMESPACE   POD     NAME   CPU(cores)   MEMORY(bytes)\n"


def sample(value: Any = "0.25", **labels: str) -> dict[str, Any]:
    return {"metric": {"namespace": "shop", "pod": "web-1", "container": "main"} | labels, "value": [1, value]}


def answer(*result: Any, kind: str = "vector") -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": list(result)}})


def read(content: str, resource: str = "") -> list[tuple[Any, ...]]:
    found = read_usage(text(content, "usage"), stdin=BytesIO(), resource=resource)
    return [
        (row.namespace, row.pod, row.container, row.amounts.get("cpu"), row.amounts.get("memory"))
        for row in found.measured
    ]


POD_METRICS = {
    "metadata": {"name": "web-1", "namespace": "shop"},
    "window": "15s",
    "containers": [{"name": "main", "usage": {"cpu": "250000000n", "memory": "65536Ki"}}],
}
LISTED = {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": [POD_METRICS]}


@pytest.mark.parametrize(
    ("content", "row"),
    [
        (f"{HEAD}shop        web-1   main   250m         64Mi\n", WEB),
        ("shop web-1 main 250m 64Mi", WEB),
        ("POD NAME CPU(cores) MEMORY(bytes)\nweb-1 main 250m 64Mi\n", (None, *WEB[1:])),
        ("web-1   main   250m   64Mi\n", (None, *WEB[1:])),
        ("NAME CPU(cores) MEMORY(bytes)\nweb-1 250m 64Mi\n", (None, "web-1", "", *WEB[3:])),
        ("NAMESPACE NAME CPU(cores) MEMORY(bytes)\nshop web-1 250m 64Mi\n", ("shop", "web-1", "", *WEB[3:])),
        (f"{HEAD}shop web-1 main 250m 64Mi\n                    ________     ________\n      250m  64Mi\n", WEB),
        ("namespace,pod,container,cpu,memory\nshop,web-1,main,0.25,67108864\n", WEB),
        ("pod,team,namespace,cpu,container\nweb-1,a,shop,250m,main\n", (*WEB[:4], None)),
        ("namespace,pod,container,cpu,memory\nshop,web-1,main,,64Mi\n", (*WEB[:3], None, WEB[4])),
        (json.dumps(LISTED), WEB),
        (json.dumps({"apiVersion": "v1", "kind": "List", "items": [LISTED["items"][0] | {"apiVersion": LISTED["apiVersion"], "kind": "PodMetrics"}]}), WEB),  # type: ignore[index]
        (answer(sample(__name__="node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate")), (*WEB[:4], None)),
        (answer(sample(str(2**26), __name__="container_memory_working_set_bytes")), (*WEB[:3], None, WEB[4])),
        (answer(sample(resource="cpu")), (*WEB[:4], None)),
        (answer(sample(resource="cpu"), sample("9", resource="cpu", container="POD")), (*WEB[:4], None)),
        (answer({"metric": sample(resource="cpu")["metric"], "values": [[1, "0.1"], [2, "0.25"], [3, "0.2"]]}, kind="matrix"), (*WEB[:4], None)),
    ],
)  # fmt: skip
def test_forms(content: str, row: tuple[Any, ...]) -> None:
    assert read(content) == [row]


def test_which_resource_a_file_measures_can_be_said() -> None:
    assert read(answer(sample()), "cpu") == [(*WEB[:4], None)]
    assert read(f"{HEAD}shop web-1 main 250m 64Mi\n", "memory") == [(*WEB[:3], None, WEB[4])]


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("", ["usage: holds no usage of pods"]),
        ("hello\n", ["usage, line 1: cannot be read: has 1 columns"]),
        (
            f"{HEAD}shop web-1 main abc 64Mi\nshop web-1 main 1\nshop web-2 main -1 1Gi\n",
            ["usage, line 2: cpu is not an amount: 'abc'", "usage, line 3: cannot be read", "usage, line 4: cpu is negative"],
        ),
        ("cpu,memory\n1,1\n", ["usage, line 1: has no column POD"]),
        ("pod,cpu,cpu\n", ["usage, line 1: has two columns for cpu"]),
        (answer(sample(), sample()), ["usage: data.result[0]: does not say whether it is cpu or memory; 1 more like it"]),
        (answer(sample(__name__="container_cpu_usage_seconds_total")), ["usage: data.result[0]: container_cpu_usage_seconds_total is a counter"]),
        (answer(sample("NaN", resource="cpu")), ["usage: data.result[0]: its value is not an amount: 'NaN'"]),
        (answer({"metric": {"pod": "a"}}), ["usage: data.result[0]: has no label namespace or pod"]),
        (answer(7), ["usage: data.result[0]: has no labels"]),
        (answer(kind="scalar"), ["usage: is not a vector of pods"]),
        ('{"status":"error","errorType":"bad_data","error":"parse error"}', ["usage: is an error of Prometheus: parse error"]),
        ('{"status": "success"', ["usage: is not valid JSON"]),
        ('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}', ["usage: holds no usage of pods"]),
    ],
)  # fmt: skip
def test_everything_that_is_wrong_is_said_at_once(content: str, problems: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        read(content)
    found = [str(problem) for problem in raised.value.problems]
    assert len(found) == len(problems)
    assert all(message.startswith(start) for message, start in zip(found, problems, strict=True)), found
