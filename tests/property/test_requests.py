"""Laws of usage and requests: whatever a file holds, it is read or refused; pods get the most that was measured."""

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.errors import InputError
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.sources.manifests.given import text
from kwhatif.sources.usage import read_usage
from tests.examples import examples
from tests.unit.edits.test_requests import OBJECTS
from tests.unit.sources.test_usage import HEAD, LISTED, answer, sample

SEEDS = [
    f"{HEAD}shop web-1 main 250m 64Mi\n",
    "namespace,pod,container,cpu,memory\nshop,web-1,main,0.25,67108864\n",
    json.dumps(LISTED),
    answer(sample(resource="cpu"), sample("7", resource="memory")),
]
PIECES = ['"', "\n", ",", " ", "{", "}", "null", "-1", "1e999", "\x00", "é", "[]", "cpu", "NaN", "9" * 30, "\t"]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A file of usage with some places replaced."""
    found = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(found)))
        end = draw(st.integers(start, min(len(found), start + 12)))
        found = found[:start] + draw(st.sampled_from(PIECES)) + found[end:]
    return found


@given(mutated(), st.sampled_from(["", "cpu", "memory"]))
@settings(max_examples=examples(300), deadline=None)
def test_a_file_is_read_or_refused_with_its_name(content: str, resource: str) -> None:
    places: list[str] = []
    rows: list[int] = []
    try:
        found = read_usage(text(content, "usage"), stdin=BytesIO(), resource=resource)
        rows = [amount for row in found.measured for amount in row.amounts.values()]
    except InputError as refused:
        places = [problem.where for problem in refused.problems]
    assert bool(rows) is not bool(places)
    assert all("usage" in where for where in places)
    assert all(amount >= 0 for amount in rows)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where usage is written."""
    return tmp_path_factory.mktemp("usage") / "usage.txt"


amounts = st.tuples(st.integers(0, 5_000), st.integers(0, 8_000))
SESSION = kwhatif.load(OBJECTS)


@given(st.dictionaries(st.sampled_from(["web-1-bcdfg", "web-1-hjklm", "db-0", "lone"]), amounts, min_size=1))
@settings(max_examples=examples(30), deadline=None)
def test_each_pod_gets_the_most_of_its_workload_up_to_its_limit(file: Path, used: dict[str, tuple[int, int]]) -> None:
    file.write_text("\n".join(f"shop {pod} c {cpu}m {memory}Mi" for pod, (cpu, memory) in used.items()))
    edited = kwhatif.edited(SESSION, f"requests from {file}")
    before, after = (session.cluster.all(Pod) for session in (SESSION, edited))
    for key, pod in after.items():
        alike = [amount for name, amount in used.items() if name.rpartition("-")[0] == key[5:].rpartition("-")[0]]
        alike = [used["lone"]] if key == "shop/lone" and "lone" in used else alike if key != "shop/lone" else []
        resources, old = pod.spec.containers[0].resources, before[key].spec.containers[0].resources
        assert resources.limits == old.limits
        if not alike:
            assert resources == old
            continue
        most = parse_quantity(f"{max(cpu for cpu, _ in alike)}m")
        bound = parse_quantity(old.limits["cpu"]) if "cpu" in old.limits else most
        assert parse_quantity(resources.requests["cpu"]) == min(most, bound)
        assert parse_quantity(resources.requests["memory"]) == parse_quantity(f"{max(each for _, each in alike)}Mi")
