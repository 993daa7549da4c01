"""Fields that there are not, that are there twice, or that hold what they cannot hold, as the API server says it."""

import io
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.render.caveats import sentence
from kwhatif.scheduler.release import MINORS
from kwhatif.sources.decoding.strict import VERSION, ApiFields, Validation, api_fields, parse_validation
from kwhatif.sources.manifests.read import ManifestSet, read_manifest_set
from tests import ROOT

POD = """apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  containers:
  - name: main
    image: web
"""


def read(text: str, validation: Validation = "strict") -> ManifestSet:
    return read_manifest_set(["-"], stdin=io.BytesIO(text.encode()), default_namespace="default", validation=validation)


def problems(text: str, validation: Validation = "strict") -> list[str]:
    """What is wrong, without the name of the input."""
    found = read(text, validation)
    return [str(problem).removeprefix("standard input, ") for problem in found.problems]


UNKNOWN = {
    "in a list": (
        POD + "    resource: {requests: {cpu: 1}}\n",
        'document 1, line 8 (Pod shop/a): strict decoding error: unknown field "spec.containers[0].resource"'
        " (did you mean resources?)",
    ),
    "of another case": (
        POD + "    Image: web\n",
        'document 1, line 8 (Pod shop/a): strict decoding error: unknown field "spec.containers[0].Image"'
        " (did you mean image?)",
    ),
    "beside spec": (
        POD + "replicas: 2\n",
        'document 1, line 8 (Pod shop/a): strict decoding error: unknown field "replicas"',
    ),
    "in metadata": (
        POD.replace("namespace: shop", "namespace: shop, label: {}"),
        'document 1, line 3 (Pod shop/a): strict decoding error: unknown field "metadata.label" (did you mean labels?)',
    ),
    "in a template": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {}\n  template:\n"
        "    spec:\n      containers: []\n      nodeSelectors: {a: b}\n",
        "document 1, line 9 (Deployment a): strict decoding error: unknown field"
        ' "spec.template.spec.nodeSelectors" (did you mean nodeSelector?)',
    ),
    "in a kind that scheduling does not read": (
        POD + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndate: {}\n",
        'document 2, line 12 (ConfigMap c): strict decoding error: unknown field "date" (did you mean data?)',
    ),
    "in an entry of a list": (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  strings: {}\n",
        "document 1, items[0], line 7 (Secret s): strict decoding error:"
        ' unknown field "strings" (did you mean stringData?)',
    ),
    "in an entry of a list of one kind": (
        "apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: j}\n  spec: {completion: 2}\n",
        "document 1, items[0], line 5 (Job j): strict decoding error:"
        ' unknown field "spec.completion" (did you mean completions?)',
    ),
    "with an odd name": (
        POD + "odd.na/me: 1\n",
        'document 1, line 8 (Pod shop/a): strict decoding error: unknown field "odd.na/me"',
    ),
}


@pytest.mark.parametrize(("text", "said"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_field_is_an_error_or_a_caveat_or_nothing(text: str, said: str) -> None:
    assert problems(text) == [said]
    strict, lax, silent = (len(read(text, how).manifests) for how in ("strict", "warn", "ignore"))
    assert (lax, silent) == (1 if "Pod" in text or "Deployment" in text or "JobList" in text else 0, lax)
    assert strict == (1 if "ConfigMap" in text else 0)
    warned = read(text, "warn")
    assert (warned.problems, read(text, "ignore").problems, read(text, "ignore").caveats) == ((), (), ())
    assert [sentence(caveat) for caveat in warned.caveats] == [
        f"standard input, {said.replace('strict decoding error: ', '')}"
    ]


REPEATED = {
    "in block style": (POD + "    image: api\n", "spec.containers[0].image", 8),
    "in flow style": (POD.replace("{name: a,", "{name: b, name: a,"), "metadata.name", 3),
    "in an entry that is not simple": (POD + "    args: [\n      a]\n    args: []\n", "spec.containers[0].args", 10),
    "with quotes": (POD + '    "image": api\n', "spec.containers[0].image", 8),
    "a whole list": (POD + "  containers: []\n", "spec.containers", 8),
    "at the top": (POD + "kind: Pod\n", "kind", 8),
    "a label": (POD.replace("name: a,", "name: a, labels: {a.b/c: d, a.b/c: d},"), "metadata.labels.a.b/c", 3),
    "beside a merge": (
        POD.replace("name: main\n", "name: &n main\n    env: [&e {name: E}, {<<: *e, value: a, value: b}]\n"),
        "spec.containers[0].env[1].value",
        7,
    ),
    "in a custom kind": (
        POD + "---\napiVersion: example.com/v1\nkind: Odd\nmetadata: {name: o}\nspec: {a: 1, a: 2}\n",
        "spec.a",
        12,
    ),
}


@pytest.mark.parametrize(("text", "field", "line"), REPEATED.values(), ids=REPEATED.keys())
def test_a_key_that_is_there_twice(text: str, field: str, line: int) -> None:
    (said,) = problems(text)
    assert said.endswith(f'strict decoding error: duplicate field "{field}"')
    assert f", line {line} " in said
    assert problems(text, "ignore") == []
    assert f'duplicate field "{field}"' in sentence(read(text, "warn").caveats[0])


def test_a_key_that_json_has_twice() -> None:
    text = (
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[],"nodeName":"","nodeName":"n"}}'
    )
    assert problems(text) == ['document 1 (Pod a): strict decoding error: duplicate field "spec.nodeName"']


def test_a_key_that_a_list_has_twice() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"  {line}\n" for line in POD.splitlines())
    text = text.replace("  apiVersion", "- apiVersion", 1) + "  spec: {}\n"
    assert problems(text) == [
        'document 1, items[0], line 11 (Pod shop/a): strict decoding error: duplicate field "spec"'
    ]


def test_a_key_that_is_too_long_for_yaml() -> None:
    long = "x" * 1100
    (said,) = problems(f"{POD}{long}: 1\n{long}: 2\n")
    assert said.startswith("document 1, line ")
    assert ": is not valid YAML: while scanning a simple key could not find expected" in said


def test_keys_that_a_merge_brings_in_are_not_repeated() -> None:
    text = POD + "    env:\n    - &e {name: E, value: a}\n    - {<<: *e, value: b}\n    - {value: c, <<: *e}\n"
    assert problems(text) == []


WRONG_TYPES = {
    "of a kind that scheduling does not read": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {port: 80}\n",
        "document 1, line 4 (ConfigMap c): data.port: expected a string, got an integer (put it in quotes)",
    ),
    "that scheduling does not read": (
        POD + "    livenessProbe: {httpGet: {port: true}}\n",
        "document 1, line 8 (Pod shop/a): spec.containers[0].livenessProbe.httpGet.port:"
        " expected an integer or a string, got a boolean",
    ),
    "that scheduling reads": (
        POD + "  priority: high\n",
        "document 1, line 8 (Pod shop/a): spec.priority: expected an integer, got a string",
    ),
    "beyond 32 bits": (
        POD + "  priority: 3000000000\n",
        "document 1, line 8 (Pod shop/a): spec.priority: is out of range: it must be from -2147483648 to 2147483647",
    ),
    "an object that is a list": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: [a]\n",
        "document 1, line 4 (Secret s): data: expected an object, got a list",
    ),
    "a list that is an object": (
        "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\nsubsets: {a: b}\n",
        "document 1, line 4 (Endpoints e): subsets: expected a list, got an object",
    ),
    "not base64": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: hunter2}\n",
        "document 1, line 4 (Secret s): data.password: is not base64",
    ),
}


@pytest.mark.parametrize(("text", "said"), WRONG_TYPES.values(), ids=WRONG_TYPES.keys())
def test_a_value_of_a_wrong_type_is_an_error_however_lax_the_server(text: str, said: str) -> None:
    assert problems(text) == [said]
    assert problems(text, "warn") == [said]
    assert problems(text, "ignore") == [said]
    assert not read(text, "ignore").manifests


def test_what_go_takes_is_taken() -> None:
    text = """apiVersion: v1
kind: Pod
metadata: {name: a, labels: null, creationTimestamp: null}
spec:
  terminationGracePeriodSeconds: 3.0
  containers:
  - name: main
    resources: {requests: {cpu: 1, memory: 1.5Gi}, limits: {cpu: 0.5}}
    livenessProbe: {httpGet: {port: http}}
status: {phase: Pending}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {empty: "", folded: "aGVs\\nbG8="}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec: {versions: [{schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, items: {anything: [1]}}}}]}
"""
    assert problems(text) == []


def test_all_that_is_wrong_is_reported_at_once() -> None:
    text = POD + "    imagePolicy: Always\n    resources: {requests: {cpu: 1x}}\n  priority: 3000000000\n"
    assert [said.rpartition(") ")[2][:40] for said in problems(text)] == [
        "document 1, line 8 (Pod shop/a): strict "[:40],
        "document 1, line 10 (Pod shop/a): spec.p"[:40],
        "document 1, line 9 (Pod shop/a): spec.co"[:40],
    ]


@pytest.mark.parametrize(
    ("text", "how"),
    [("strict", "strict"), ("true", "strict"), ("warn", "warn"), ("ignore", "ignore"), ("false", "ignore")],
)
def test_the_words_of_kubectl(text: str, how: str) -> None:
    assert parse_validation(text) == how


def test_any_other_word() -> None:
    with pytest.raises(ValueError, match="'Strict' is neither strict"):
        parse_validation("Strict")


# --- the table ---------------------------------------------------------------------------------------


def _fields(info: inspect.Type) -> inspect.StructType | None:
    """The struct that a field holds, directly, in a list, or in a map."""
    if isinstance(info, inspect.UnionType):
        return next(filter(None, map(_fields, info.types)), None)
    if isinstance(info, inspect.VarTupleType):
        return _fields(info.item_type)
    if isinstance(info, inspect.DictType):
        return _fields(info.value_type)
    return info if isinstance(info, inspect.StructType) else None


def _missing(
    info: inspect.StructType, number: int, path: str, seen: set[tuple[type, int]], table: ApiFields
) -> list[str]:
    fields = table.types[number]
    if (info.cls, number) in seen:
        return []
    seen.add((info.cls, number))
    missing: list[str] = []
    for field in info.fields:
        here = f"{path}.{field.encode_name}"
        code = fields.get(field.encode_name)
        if code is None:
            missing.append(here)
        elif (below := _fields(field.type)) is not None and code.lstrip("[{").isdigit():
            missing += _missing(below, int(code.lstrip("[{")), here, seen, table)
    return missing


#: Fields of older versions, which dumps may have, and of types that serve for two of the API's.
ELSEWHERE = (
    "ResourceClaim.spec.devices.requests.",
    "ResourceClaimTemplate.spec.spec.devices.requests.",
    "ResourceSlice.spec.devices.basic",
    "volumes.azureFile.secretNamespace",
    "updateStrategy.rollingUpdate.",
    "strategy.rollingUpdate.partition",
    "spec.workloadRef",
    "PodGroup.spec.minMember",  # of the PodGroups of other schedulers
    "DeviceTaintRule.spec.deviceSelector.deviceClassName",
    "DeviceTaintRule.spec.deviceSelector.selectors",
    "template.kwhatif.dev/",  # what is kept of a template beside its fields
    "metadata.kwhatif.dev/",  # and of what was applied before
)


@pytest.mark.parametrize("resource", RESOURCES.values(), ids=lambda resource: resource.kind)
def test_the_table_has_every_field_that_kwhatif_reads(resource: Any) -> None:
    tables = (api_fields(), api_fields(f"1.{MINORS[0]}"))  # the newest has kinds that came later
    table = next(each for each in tables if each.type_of(resource.api_version, resource.kind) is not None)
    number = table.type_of(resource.api_version, resource.kind)
    assert number is not None
    info = inspect.type_info(resource.type)
    assert isinstance(info, inspect.StructType)
    missing = _missing(info, number, resource.kind, set(), table)
    assert [path for path in missing if not any(known in path for known in ELSEWHERE)] == []


def test_the_table_is_of_the_version_whose_rules_are_followed() -> None:
    assert api_fields().version.startswith(f"v{VERSION}.")
    assert f"VERSION_{VERSION} = {api_fields().version}\n" in (ROOT / "tests" / "go.mk").read_text()


def test_fields_that_came_with_this_version() -> None:
    pod = api_fields().types[int(api_fields().types[api_fields().type_of("v1", "Pod") or 0]["spec"])]
    new = {"resources", "hostnameOverride", "schedulingGroup"}
    assert {*new, "workloadRef"} & pod.keys() == new  # workloadRef was one of 1.35


# --- laws --------------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "spec", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_KINDS = [(version, kind) for version, kinds in api_fields().kinds.items() for kind in kinds]


@given(kind=st.sampled_from(_KINDS), data=st.dictionaries(st.sampled_from(["metadata", "spec", "data", "x"]), _JSON))
def test_whatever_an_object_holds_there_is_an_answer(kind: tuple[str, str], data: dict[str, Any]) -> None:
    text = msgspec.json.encode({"apiVersion": kind[0], "kind": kind[1], **data})
    found = read_manifest_set(["-"], stdin=io.BytesIO(text), default_namespace="default")
    said = [(problem.where, problem.field, problem.message) for problem in found.problems]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("minor", MINORS)
def test_every_release_has_its_table_of_fields(minor: int) -> None:
    table = api_fields(f"1.{minor}")
    assert table.version.startswith(f"v1.{minor}.")
    container = table.types[int(_below(table, ("spec", "containers")))]
    assert ("restartPolicyRules" in container) == (minor >= 34)


def _below(table: ApiFields, path: tuple[str, ...]) -> str:
    """The code of a field of pods, without what says that it is a list."""
    code = str(table.type_of("v1", "Pod"))
    for step in path:
        code = table.types[int(code)][step].lstrip("[")
    return code
