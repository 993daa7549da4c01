import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.errors import InputError
from kwhatif.kube.model.pod import Pod
from kwhatif.sources.decoding import objects as validate_pods
from kwhatif.sources.decoding import values as validate_values
from kwhatif.sources.decoding.decode import ObjectDecoder
from kwhatif.sources.decoding.objects import CANDIDATES, STORED, Validator, validate_batch
from kwhatif.sources.text.documents import Document
from kwhatif.sources.text.problems import Origin, Place, Problems
from tests.objects import manifest


def problems_of(obj: dict[str, Any], validator: Validator) -> list[str]:
    problems = Problems()
    document = Document(json.dumps(obj).encode(), Place(Origin("f")))
    for batch in ObjectDecoder(problems, "default").document(document):
        assert batch.objects[0] is not None
        validate_batch(batch, problems, validator)
    try:
        problems.raise_if_any()
    except InputError as wrong:
        return [f"{problem.field}: {problem.message}" for problem in wrong.problems]
    return []


def pod(status: dict[str, Any] | None = None, meta: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return manifest("Pod", {"name": "a", **(meta or {})}, spec=spec, status=status or {})


def thing(kind: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **fields}


def requests(**amounts: Any) -> dict[str, Any]:
    return {"resources": {"requests": amounts}}


def affinity(**term: Any) -> dict[str, Any]:
    return {
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **term}]}
        }
    }


def node_affinity(*expressions: Any, fields: Any = ()) -> dict[str, Any]:
    term = {"matchExpressions": expressions, "matchFields": fields}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }


def expression(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": values}


def spread(**fields: Any) -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}
        ]
    }


NO_QUANTITY = "is not a quantity such as 2, 0.5, 500m or 1.5Gi"
NO_TIME = "is not a time such as 2026-01-31T12:00:00Z"
ANYWHERE = [
    (
        "a container's request",
        pod(containers=[{}, requests(cpu="1gb")]),
        [f"spec.containers[1].resources.requests.cpu: '1gb' {NO_QUANTITY}"],
    ),
    (
        "an init container's limit",
        pod(initContainers=[{"resources": {"limits": {"memory": "1K"}}}]),
        [f"spec.initContainers[0].resources.limits.memory: '1K' {NO_QUANTITY}"],
    ),
    (
        "what a resize has granted",
        pod({"containerStatuses": [{"allocatedResources": {"cpu": ""}}]}),
        [f"status.containerStatuses[0].allocatedResources.cpu: '' {NO_QUANTITY}"],
    ),
    (
        "two clocks in one time",
        pod({"startTime": "2026-01-31T12:00:00Z\n:00:00Z"}),
        [f"status.startTime: '2026-01-31T12:00:00Z\\n:00:00Z' {NO_TIME}"],
    ),
    (
        "when a container ended",
        pod({"containerStatuses": [{"state": {"terminated": {"finishedAt": "noon"}}}]}),
        [f"status.containerStatuses[0].state.terminated.finishedAt: 'noon' {NO_TIME}"],
    ),
    (
        "when a sidecar ended",
        pod({"initContainerStatuses": [{"state": {"terminated": {"finishedAt": "noon"}}}]}),
        [f"status.initContainerStatuses[0].state.terminated.finishedAt: 'noon' {NO_TIME}"],
    ),
    ("overhead", pod(overhead={"cpu": "x"}), [f"spec.overhead.cpu: 'x' {NO_QUANTITY}"]),
    (
        "resources of the pod",
        pod(resources={"requests": {"example.com/gpu": "x"}}),
        [f"""spec.resources.requests["example.com/gpu"]: 'x' {NO_QUANTITY}"""],
    ),
    (
        "a claim in the pod",
        pod(
            volumes=[
                {
                    "name": "v",
                    "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1 Gi"}}}}},
                }
            ]
        ),
        [f"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage: '1 Gi' {NO_QUANTITY}"],
    ),
    (
        "an exponent that is out of reason",
        pod(containers=[requests(cpu="1e999999999")]),
        [f"spec.containers[0].resources.requests.cpu: '1e999999999' {NO_QUANTITY}"],
    ),
    (
        "a very long text",
        pod(containers=[requests(cpu="x" * 100)]),
        [f"spec.containers[0].resources.requests.cpu: '{'x' * 61}...' {NO_QUANTITY}"],
    ),
    (
        "capacity of a node",
        thing("Node", status={"capacity": {"cpu": "four"}, "allocatable": {"cpu": "4,5"}}),
        [f"status.capacity.cpu: 'four' {NO_QUANTITY}", f"status.allocatable.cpu: '4,5' {NO_QUANTITY}"],
    ),
    (
        "a claim",
        thing("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": "10 GB"}}}),
        [f"spec.resources.requests.storage: '10 GB' {NO_QUANTITY}"],
    ),
    (
        "a volume",
        thing("PersistentVolume", spec={"capacity": {"storage": "x"}}),
        [f"spec.capacity.storage: 'x' {NO_QUANTITY}"],
    ),
    (
        "a storage capacity",
        thing(
            "CSIStorageCapacity",
            "storage.k8s.io/v1",
            capacity="x",
            nodeTopology={"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        ),
        [
            'nodeTopology.matchExpressions[0]: "Gt" is not a valid label selector operator',
            f"capacity: 'x' {NO_QUANTITY}",
        ],
    ),
    (
        "a LimitRange",
        thing("LimitRange", spec={"limits": [{"default": {"cpu": "x"}}]}),
        [f"spec.limits[0].default.cpu: 'x' {NO_QUANTITY}"],
    ),
    ("a quota", thing("ResourceQuota", spec={"hard": {"pods": "x"}}), [f"spec.hard.pods: 'x' {NO_QUANTITY}"]),
    (
        "a RuntimeClass",
        thing("RuntimeClass", "node.k8s.io/v1", overhead={"podFixed": {"cpu": "x"}}),
        [f"overhead.podFixed.cpu: 'x' {NO_QUANTITY}"],
    ),
    (
        "the template of a workload",
        thing("Deployment", "apps/v1", spec={"template": {"spec": {"containers": [requests(cpu="x")]}}}),
        [f"spec.template.spec.containers[0].resources.requests.cpu: 'x' {NO_QUANTITY}"],
    ),
    (
        "a device",
        thing(
            "ResourceSlice",
            "resource.k8s.io/v1",
            spec={"devices": [{"name": "d", "capacity": {"mem": {"value": "x"}}}]},
        ),
        [f"spec.devices[0].capacity.mem.value: 'x' {NO_QUANTITY}"],
    ),
    (
        "creationTimestamp",
        pod(meta={"creationTimestamp": "yesterday"}),
        [f"metadata.creationTimestamp: 'yesterday' {NO_TIME}"],
    ),
    (
        "a day that does not exist",
        pod({"startTime": "2026-02-30T00:00:00Z"}),
        [f"status.startTime: '2026-02-30T00:00:00Z' {NO_TIME}"],
    ),
    (
        "an hour that does not exist",
        pod(meta={"deletionTimestamp": "2026-02-20T24:00:00Z"}),
        [f"metadata.deletionTimestamp: '2026-02-20T24:00:00Z' {NO_TIME}"],
    ),
    (
        "a time without a zone",
        thing("Node") | {"metadata": {"name": "n", "creationTimestamp": "2026-02-20T10:00:00"}},
        [f"metadata.creationTimestamp: '2026-02-20T10:00:00' {NO_TIME}"],
    ),
    (
        "a label selector's operator",
        pod(**affinity(labelSelector={"matchExpressions": [expression("Has", "b"), expression("Exists")]})),
        [
            'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0]: "Has" is not a valid label selector operator'
        ],
    ),
    (
        "a label selector without values",
        thing("PodDisruptionBudget", "policy/v1", spec={"selector": {"matchExpressions": [expression("In")]}}),
        [
            "spec.selector.matchExpressions[0]: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
        ],
    ),
    (
        "a label that cannot exist",
        pod(**affinity(namespaceSelector={"matchLabels": {"a": "b" * 64}})),
        [
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchLabels.a: must be no more than 63 bytes"
        ],
    ),
    (
        "a spread constraint's selector",
        pod(**spread(labelSelector={"matchExpressions": [expression("Is")]})),
        [
            'spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0]: "Is" is not a valid label selector operator'
        ],
    ),
    (
        "a Service's selector",
        thing("Service", spec={"selector": {"a": "b" * 64}}),
        ["spec.selector.a: must be no more than 63 bytes"],
    ),
    (
        "when a disrupted pod was evicted",
        thing("PodDisruptionBudget", "policy/v1", status={"disruptedPods": {"a-1": "noon"}}),
        [f"status.disruptedPods.a-1: 'noon' {NO_TIME}"],
    ),
    (
        "a budget's share",
        thing("PodDisruptionBudget", "policy/v1", spec={"minAvailable": "abc%"}),
        ["spec.minAvailable: 'abc%' is neither a number nor a percentage such as 50%"],
    ),
    (
        "a budget's number in quotes",
        thing("PodDisruptionBudget", "policy/v1", spec={"maxUnavailable": "1"}),
        ["spec.maxUnavailable: '1' is neither a number nor a percentage such as 50%"],
    ),
    (
        "a budget of more than all",
        thing("PodDisruptionBudget", "policy/v1", spec={"minAvailable": "101%"}),
        ["spec.minAvailable: '101%' is more than 100%"],
    ),
    (
        "a negative budget",
        thing("PodDisruptionBudget", "policy/v1", spec={"maxUnavailable": -1}),
        ["spec.maxUnavailable: -1 is negative"],
    ),
    (
        "a node's last sign of life",
        manifest("Node", {"name": "n"}, status={"conditions": [{"type": "Ready", "lastHeartbeatTime": "noon"}]}),
        [f"status.conditions[0].lastHeartbeatTime: 'noon' {NO_TIME}"],
    ),
    ("a missing name", {"apiVersion": "v1", "kind": "Node"}, ["metadata.name: is not set"]),
]


@pytest.mark.parametrize("validator", [STORED, CANDIDATES], ids=["in a cluster", "in a manifest"])
@pytest.mark.parametrize(("obj", "problems"), [case[1:] for case in ANYWHERE], ids=[case[0] for case in ANYWHERE])
def test_what_is_wrong_anywhere(obj: dict[str, Any], problems: list[str], validator: Validator) -> None:
    assert problems_of(obj, validator) == problems
    assert problems_of(obj, validator) == problems, "what is wrong is not remembered as good"


AT = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
CANDIDATES_ONLY = [
    (
        "an operator of node affinity",
        pod(**node_affinity(expression("Has"))),
        [f"{AT}[0].matchExpressions[0].operator: 'Has' is none of In, NotIn, Exists, DoesNotExist, Gt, Lt"],
    ),
    (
        "In without values",
        pod(**node_affinity(expression("In"))),
        [f"{AT}[0].matchExpressions[0].values: must not be empty with operator In"],
    ),
    (
        "Exists with values",
        pod(**node_affinity(expression("Exists", "b"))),
        [f"{AT}[0].matchExpressions[0].values: must be empty with operator Exists"],
    ),
    (
        "Gt with two values",
        pod(**node_affinity(expression("Gt", "1", "2"))),
        [f"{AT}[0].matchExpressions[0].values: must have exactly one entry with operator Gt"],
    ),
    (
        "a value that no label can have",
        pod(**node_affinity(expression("In", "b" * 64))),
        [f"{AT}[0].matchExpressions[0].values: must be no more than 63 bytes"],
    ),
    (
        "no key",
        pod(**node_affinity(expression("Exists", key=""))),
        [
            f"{AT}[0].matchExpressions[0].key: name part must be non-empty",
            f"{AT}[0].matchExpressions[0].key: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    (
        "a field that nodes have not",
        pod(**node_affinity(fields=[expression("In", "n", key="spec.x")])),
        [f"{AT}[0].matchFields[0].key: 'spec.x' is not metadata.name, the only field to select by"],
    ),
    (
        "two names of nodes",
        pod(**node_affinity(fields=[expression("In", "n", "m", key="metadata.name")])),
        [f"{AT}[0].matchFields[0].values: must have exactly one entry"],
    ),
    (
        "required affinity without terms",
        pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}),
        [f"{AT}: must have at least one term"],
    ),
    (
        "a weight",
        pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101}]}}),
        [
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 101 is not in the range 1-100"
        ],
    ),
    (
        "no topology key",
        pod(**affinity(topologyKey="")),
        ["spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: is not set"],
    ),
    ("a skew of 0", pod(**spread(maxSkew=0)), ["spec.topologySpreadConstraints[0].maxSkew: 0 is not greater than 0"]),
    (
        "whenUnsatisfiable",
        pod(**spread(whenUnsatisfiable="Never")),
        ["spec.topologySpreadConstraints[0].whenUnsatisfiable: 'Never' is none of DoNotSchedule, ScheduleAnyway"],
    ),
]


@pytest.mark.parametrize(
    ("obj", "problems"), [case[1:] for case in CANDIDATES_ONLY], ids=[case[0] for case in CANDIDATES_ONLY]
)
def test_what_the_api_server_would_refuse(obj: dict[str, Any], problems: list[str]) -> None:
    assert problems_of(obj, CANDIDATES) == problems
    assert problems_of(obj, STORED) == []


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(
            pod(
                affinity={
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "preference": {"matchExpressions": [expression("In", "b" * 64)]}}
                        ]
                    }
                }
            ),
            id="a value that no label can have, in preferred node affinity",
        ),
        pytest.param(pod(priority=-1000), id="a negative priority"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}, id="a name to be made"),
        pytest.param(pod(containers=[requests(cpu=1, memory=1.5, storage="1e3")]), id="numbers as quantities"),
        pytest.param(
            pod(meta={"creationTimestamp": "2026-02-20T10:00:00.123456+01:00"}), id="a time with a fraction and a zone"
        ),
        pytest.param(thing("PodDisruptionBudget", "policy/v1", spec={"minAvailable": "100%"}), id="all of them"),
    ],
)
def test_what_is_fine(obj: dict[str, Any]) -> None:
    assert problems_of(obj, CANDIDATES) == []


def test_a_name_to_be_made_is_wrong_in_a_cluster() -> None:
    assert problems_of({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}, STORED) == [
        "metadata.name: is not set"
    ]


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "2Gi", "x", "1m"]))


@pytest.mark.parametrize("clocks", [(), ("2026-01-31T12:00:00Z",), ("2026-01-31T12:00:00.5+01:00",)])
@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        ("2026-01-31T00:00:00Z", True),
        ("2026-01-31T23:59:59Z", True),
        ("2026-01-31T23:59:59.999999-23:59", True),
        ("2026-01-31T24:00:00Z", False),
        ("2026-01-31T12:60:00Z", False),
        ("2026-01-31T12:00:60Z", False),
        ("2026-02-30T12:00:00Z", False),
        ("2026-01-31t12:00:00Z", False),
        ("2026-01-31T12:00:00", False),
        ("2026-01-31T12:00:0٣Z", False),
        ("2026-01-31T12:00:00Z\n:00:00Z", False),
        ("2026-01-31T12", False),
        ("", False),
    ],
)
def test_a_time_is_a_time_whatever_stands_around_it(text: str, is_time: bool, clocks: tuple[str, ...]) -> None:
    assert validate_values.are_times([*clocks, text, *clocks]) is is_time


TIMES = st.sampled_from([None, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "now"])
SELECTORS = st.sampled_from(
    [
        None,
        {},
        {"matchLabels": {"a": "b"}},
        {"matchLabels": {"a": "-"}},
        {"matchExpressions": [{"key": "a", "operator": "Is"}]},
    ]
)
RESOURCES = st.fixed_dictionaries({"requests": AMOUNTS, "limits": AMOUNTS})
CONTAINERS = st.lists(st.fixed_dictionaries({"resources": RESOURCES}), max_size=2)
STATUSES = st.lists(
    st.fixed_dictionaries(
        {"allocatedResources": AMOUNTS},
        optional={
            "resources": RESOURCES,
            "state": st.fixed_dictionaries({"terminated": st.fixed_dictionaries({"finishedAt": TIMES})}),
        },
    ),
    max_size=2,
)
TERMS = st.lists(st.fixed_dictionaries({"labelSelector": SELECTORS, "namespaceSelector": SELECTORS}), max_size=2)
PODS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries(
            {"name": st.sampled_from(["a", "a", "a", ""]), "creationTimestamp": TIMES, "deletionTimestamp": TIMES}
        ),
        "spec": st.fixed_dictionaries(
            {"containers": CONTAINERS, "initContainers": CONTAINERS},
            optional={
                "overhead": AMOUNTS,
                "resources": RESOURCES,
                "affinity": st.fixed_dictionaries(
                    {
                        "podAntiAffinity": st.fixed_dictionaries(
                            {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}
                        )
                    }
                ),
                "topologySpreadConstraints": st.lists(st.fixed_dictionaries({"labelSelector": SELECTORS}), max_size=2),
                "volumes": st.just(
                    [{"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "x"}}}}}}]
                ),
            },
        ),
        "status": st.fixed_dictionaries(
            {
                "startTime": TIMES,
                "conditions": st.lists(st.fixed_dictionaries({"lastTransitionTime": TIMES}), max_size=3),
                "containerStatuses": STATUSES,
                "initContainerStatuses": STATUSES,
            },
            optional={"resources": RESOURCES, "allocatedResources": AMOUNTS},
        ),
    }
)


@given(st.lists(PODS, min_size=1, max_size=4))
def test_a_quick_look_never_misses_anything(pods: list[dict[str, Any]]) -> None:
    for known in (
        validate_values.good_quantities,
        validate_values.good_hours,
        validate_values.good_labels,
    ):
        known.clear()
    for each in pods:
        (batch,) = ObjectDecoder(Problems(), "default").document(
            Document(json.dumps(each).encode(), Place(Origin("f")))
        )
        (obj,) = batch.objects
        assert isinstance(obj, Pod)
        looked_fine = not validate_pods.doubtful([obj])
        found = problems_of(each, STORED)
        assert not (looked_fine and _by_the_long_way(obj))
        assert bool(found) == bool(_by_the_long_way(obj))


def _by_the_long_way(pod: Pod) -> list[str]:
    said: list[str] = [] if pod.metadata.name else ["no name"]
    STORED.validate(pod, lambda message, path: said.append(message))
    return said
