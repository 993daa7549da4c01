import json
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.sources.decoding.decode import ObjectDecoder
from kwhatif.sources.text.documents import Document, Listing, NotPiecesError, Piece, one_piece
from kwhatif.sources.text.problems import Origin, Place, Problems

PLACE = Place(Origin("f"))


class Read:
    """Everything that decoding of one value gives."""

    def __init__(self, value: Any, *, listing: bool = False) -> None:
        problems = Problems()
        decoder = ObjectDecoder(problems, "shop")
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        if listing:
            batches = decoder.listing(
                one_piece(value["apiVersion"], value["kind"], json.dumps(value["items"]).encode()), PLACE
            )
        else:
            batches = decoder.document(Document(text, PLACE))
        found = [(batch.place_of(n).origin.pointer, obj) for batch in batches for n, obj in enumerate(batch.objects)]
        self.pointers = [pointer for pointer, obj in found if obj is not None]
        self.objects: list[Any] = [obj for _, obj in found if obj is not None]
        self.skipped, self.outdated = dict(decoder.skipped), dict(decoder.outdated)
        try:
            problems.raise_if_any()
            self.problems = []
        except InputError as wrong:
            self.problems = [str(problem) for problem in wrong.problems]

    @property
    def names(self) -> list[str]:
        return [f"{type(obj).__name__} {key_of(obj)}" for obj in self.objects]


def obj(kind: str, name: str = "a", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def bare(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **fields}


OBJECTS = [
    pytest.param(obj("Pod"), ["Pod shop/a"], [""], id="an object"),
    pytest.param(
        obj("Node") | {"metadata": {"name": "n", "namespace": "x"}},
        ["Node n"],
        [""],
        id="a node is in no namespace",
    ),
    pytest.param(
        {"apiVersion": "v1", "kind": "List", "items": [obj("Pod"), obj("Node")]},
        ["Pod shop/a", "Node a"],
        ["/items/0", "/items/1"],
        id="a List",
    ),
    pytest.param(
        {"apiVersion": "v1", "kind": "PodList", "items": [bare("a"), bare("b")]},
        ["Pod shop/a", "Pod shop/b"],
        ["/items/0", "/items/1"],
        id="a typed list, whose items do not say what they are",
    ),
    pytest.param(
        {"apiVersion": "v1", "kind": "PodList", "items": [bare("a", spec=None), bare("b")]},
        ["Pod shop/a", "Pod shop/b"],
        ["/items/0", "/items/1"],
        id="also where one is null",
    ),
    pytest.param({"apiVersion": "v1", "kind": "PodList", "items": None}, [], [], id="a list without items"),
    pytest.param(
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [{"apiVersion": "v1", "kind": "NodeList", "items": [bare("n")]}, obj("Pod")],
        },
        ["Node n", "Pod shop/a"],
        ["/items/0/items/0", "/items/1"],
        id="a list in a list",
    ),
]


def lists(cases: list[Any]) -> list[Any]:
    return [case for case in cases if case.values[0].get("items")]


@pytest.mark.parametrize(("value", "names", "pointers"), OBJECTS)
def test_objects(value: Any, names: list[str], pointers: list[str]) -> None:
    read = Read(value)
    assert (read.names, read.pointers, read.problems) == (names, pointers, [])


@pytest.mark.parametrize(("value", "names", "pointers"), lists(OBJECTS))
def test_objects_of_a_list_taken_apart(value: Any, names: list[str], pointers: list[str]) -> None:
    read = Read(value, listing=True)
    assert (read.names, read.pointers, read.problems) == (names, pointers, [])


def test_items_of_a_typed_list_get_its_version() -> None:
    read = Read({"apiVersion": "v1", "kind": "PodList", "items": [bare("a")]})
    assert read.objects == Read(obj("Pod")).objects


NOT_READ = [
    pytest.param(obj("ConfigMap"), {"v1/ConfigMap": 1}, {}, id="a kind that scheduling does not read"),
    pytest.param(
        obj("Service", api_version="serving.knative.dev/v1"),
        {"serving.knative.dev/v1/Service": 1},
        {},
        id="a known kind of another group",
    ),
    pytest.param(
        obj("Service", api_version="serving.knative.dev/v1", spec={"selector": 1}),
        {"serving.knative.dev/v1/Service": 1},
        {},
        id="also if it has another shape",
    ),
    pytest.param(
        obj("ResourceClaim", api_version="resource.k8s.io/v1alpha3"),
        {},
        {"resource.k8s.io/v1alpha3/ResourceClaim": 1},
        id="a version that is not read",
    ),
    pytest.param(
        {"apiVersion": "v1", "kind": "SecretList", "items": [bare("a"), bare("b")]},
        {"v1/Secret": 2},
        {},
        id="a list of such a kind",
    ),
    pytest.param(
        {"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList", "items": [bare("a")]},
        {"custom.metrics.k8s.io/v1beta2/MetricValue": 1},
        {},
        id="a list of another group",
    ),
    pytest.param(
        obj("AllowList", api_version="example.com/v1"),
        {"example.com/v1/AllowList": 1},
        {},
        id="a kind that is only called a list",
    ),
    pytest.param(
        {"apiVersion": "v1", "kind": "List", "items": [obj("Secret"), obj("Event"), obj("Secret")]},
        {"v1/Secret": 2, "v1/Event": 1},
        {},
        id="in a List",
    ),
]


@pytest.mark.parametrize(("value", "skipped", "outdated"), NOT_READ)
def test_what_is_not_read_is_counted(value: Any, skipped: dict[str, int], outdated: dict[str, int]) -> None:
    read = Read(value)
    assert (read.skipped, read.outdated, read.objects, read.problems) == (skipped, outdated, [], [])


@pytest.mark.parametrize(("value", "skipped", "outdated"), lists(NOT_READ))
def test_also_in_a_list_taken_apart(value: Any, skipped: dict[str, int], outdated: dict[str, int]) -> None:
    read = Read(value, listing=True)
    assert (read.skipped, read.outdated, read.objects, read.problems) == (skipped, outdated, [], [])


def test_the_rest_of_a_list_survives_what_cannot_be_read() -> None:
    items = [
        obj("Pod", "a"),
        obj("Widget"),
        obj("Pod", "b", spec={"containers": None}),
        obj("Pod", "c", spec={"priority": "x"}),
        obj("Node", "n"),
    ]
    for read in (
        Read({"apiVersion": "v1", "kind": "List", "items": items}),
        Read({"apiVersion": "v1", "kind": "List", "items": items}, listing=True),
    ):
        assert read.names == ["Pod shop/a", "Pod shop/b", "Node n"]
        assert read.pointers == ["/items/0", "/items/2", "/items/4"]
        assert read.skipped == {"v1/Widget": 1}
        assert read.problems == ["f, document 1, items[3] (Pod c): spec.priority: expected an integer, got a string"]


@pytest.mark.parametrize(
    ("selector", "selects_nothing"),
    [({}, True), ({"matchLabels": {"a": "b"}}, False), (None, True)],
    ids=["an empty selector selects nothing in v1beta1", "any other selects as in v1", "none selects nothing"],
)
def test_budgets_of_v1beta1(selector: Any, selects_nothing: bool) -> None:
    (budget,) = Read(obj("PodDisruptionBudget", api_version="policy/v1beta1", spec={"selector": selector})).objects
    assert isinstance(budget, PodDisruptionBudget)
    assert (budget.spec.selector is None) is selects_nothing


ASKED = {"deviceClassName": "gpu", "count": 2, "adminAccess": True, "selectors": [{"cel": {"expression": "true"}}]}
FIRST = {"firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}
IS = {"attributes": {"model": {"string": "A"}}, "capacity": {"memory": {"value": "1Gi"}}, "nodeName": "n"}


@pytest.mark.parametrize(
    ("kind", "older", "current"),
    [
        (
            "ResourceClaim",
            {"devices": {"requests": [{"name": "r", **ASKED}]}},
            {"devices": {"requests": [{"name": "r", "exactly": ASKED}]}},
        ),
        (
            "ResourceClaimTemplate",
            {"spec": {"devices": {"requests": [{"name": "r", **ASKED}, {"name": "s", **FIRST}]}}},
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": ASKED}, {"name": "s", **FIRST}]}}},
        ),
        (
            "ResourceSlice",
            {"driver": "d", "devices": [{"name": "a", "basic": IS}, {"name": "b"}]},
            {"driver": "d", "devices": [{"name": "a", **IS}, {"name": "b"}]},
        ),
        ("DeviceClass", {"extendedResourceName": "example.com/gpu"}, {"extendedResourceName": "example.com/gpu"}),
    ],
)
def test_devices_of_v1beta1(kind: str, older: Any, current: Any) -> None:
    (converted,) = Read(obj(kind, api_version="resource.k8s.io/v1beta1", spec=older)).objects
    (expected,) = Read(obj(kind, api_version="resource.k8s.io/v1", spec=current)).objects
    assert converted.spec == expected.spec


def pod_of(**spec: Any) -> Pod:
    read = Read(obj("Pod", spec=spec))
    assert read.problems == []
    (pod,) = read.objects
    return pod


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [fields]}


@pytest.mark.parametrize(
    ("lenient", "strict"),
    [
        pytest.param({"affinity": None, "containers": None, "nodeName": None}, {}, id="null is not set"),
        pytest.param(
            {"nodeSelector": {"a": None}}, {"nodeSelector": {"a": ""}}, id="null in a map of strings is empty"
        ),
        pytest.param(
            container(resources={"requests": {"cpu": None}}),
            container(resources={"requests": {"cpu": 0}}),
            id="null in a map of quantities is 0",
        ),
        pytest.param({"containers": [None]}, {"containers": [{}]}, id="null in a list of objects is an empty one"),
        pytest.param({"priority": 3.0}, {"priority": 3}, id="a whole number may have a point"),
        pytest.param({"priority": 1e2}, {"priority": 100}, id="or an exponent"),
        pytest.param({"priority": None, "unknown": {"x": None}}, {}, id="unknown fields do not matter"),
    ],
)
def test_what_go_accepts_is_accepted(lenient: dict[str, Any], strict: dict[str, Any]) -> None:
    assert pod_of(**lenient) == pod_of(**strict)


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        pytest.param(
            [],
            ["f, document 1: is not a Kubernetes object: expected an object with apiVersion and kind, got a list"],
            id="a list",
        ),
        pytest.param(
            "x",
            ["f, document 1: is not a Kubernetes object: expected an object with apiVersion and kind, got a string"],
            id="a string",
        ),
        pytest.param(
            None,
            ["f, document 1: is not a Kubernetes object: expected an object with apiVersion and kind, got null"],
            id="null",
        ),
        pytest.param(
            {"metadata": {"name": "a", "namespace": "b"}, "kind": "Pod"},
            ["f, document 1 (Pod b/a): apiVersion: is not set (every Kubernetes object has an apiVersion and a kind)"],
            id="no apiVersion",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": 1},
            ["f, document 1: kind: expected a string, got an integer"],
            id="a kind that is no string",
        ),
        pytest.param(
            obj(
                "Pod",
                spec={
                    "containers": [
                        {"name": 1, "image": True, "ports": {}, "resources": {"requests": {"cpu": [], "a.b/c": {}}}}
                    ],
                    "hostNetwork": "yes",
                    "priority": 2**63,
                    "nodeSelector": {"x": 1.5},
                },
            ),
            [
                "f, document 1 (Pod a): spec.containers[0].name: expected a string, got an integer (put it in quotes)",
                "f, document 1 (Pod a): spec.containers[0].image: expected a string, got a boolean (put it in quotes)",
                "f, document 1 (Pod a): spec.containers[0].ports: expected a list, got an object",
                "f, document 1 (Pod a): spec.containers[0].resources.requests.cpu: expected a string or a number, got a list",
                'f, document 1 (Pod a): spec.containers[0].resources.requests["a.b/c"]: expected a string or a number, got an object',
                "f, document 1 (Pod a): spec.hostNetwork: expected a boolean, got a string",
                "f, document 1 (Pod a): spec.priority: is out of range: it must be from -2147483648 to 2147483647",
                "f, document 1 (Pod a): spec.nodeSelector.x: expected a string, got a number (put it in quotes)",
            ],
            id="everything in one object is reported",
        ),
        pytest.param(
            obj(
                "Deployment",
                api_version="apps/v1",
                spec={"replicas": 2**31, "strategy": {"rollingUpdate": {"maxSurge": 2**31}}},
            ),
            [
                "f, document 1 (Deployment a): spec.replicas: is out of range: it must be from -2147483648 to 2147483647",
                "f, document 1 (Deployment a): spec.strategy.rollingUpdate.maxSurge: is out of range: it must be from -2147483648 to 2147483647",
            ],
            id="more than 32 bits",
        ),
        pytest.param(
            obj("Pod", spec={"terminationGracePeriodSeconds": 2**64}),
            [
                "f, document 1 (Pod a): spec.terminationGracePeriodSeconds: is out of range: it must be from -9223372036854775808 to 9223372036854775807"
            ],
            id="more than 64 bits",
        ),
        pytest.param(
            obj("PodDisruptionBudget", api_version="policy/v1", spec={"minAvailable": 1.5}),
            ["f, document 1 (PodDisruptionBudget a): spec.minAvailable: expected a string or an integer, got a number"],
            id="half a pod",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priority":' + b"9" * 5000 + b"}}",
            ["f, document 1 (Pod a): a number is out of range"],
            id="a number of thousands of digits",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"\xff"}}',
            ["f, document 1: is not valid UTF-8"],
            id="bytes that are no text",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"Pod","x":' + b'{"a":' * 3000 + b"1" + b"}" * 3001,
            ["f, document 1: is nested too deeply"],
            id="hostile nesting",
        ),
    ],
)
def test_problems(value: Any, problems: list[str]) -> None:
    assert Read(value).problems == problems


def test_what_was_counted_of_wrong_pieces_is_forgotten() -> None:
    problems = Problems()
    decoder = ObjectDecoder(problems, "shop")
    pieces = map(Piece, [b'[{"apiVersion":"v1","kind":"Secret"},{"kind":"Pod"}]', b"[}"])
    with pytest.raises(NotPiecesError):
        list(decoder.listing(Listing("v1", "List", pieces), PLACE))
    assert not decoder.skipped
    assert not problems
