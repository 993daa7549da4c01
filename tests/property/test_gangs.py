"""Laws of groups of pods, on random clusters (`tests/gangs/generate.py`)."""

import io
import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.scheduler.framework.reference import use_reference
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.save import Moment, saved_objects
from tests.examples import examples
from tests.gangs.generate import FAMILIES, generate
from tests.gangs.play import compared, play, written

Json = dict[str, Any]


@st.composite
def cases(draw: st.DrawFn) -> Json:
    family = draw(st.sampled_from(sorted(FAMILIES)))
    return generate(f"law/{family}/{draw(st.integers(0, 9999))}", family)


@settings(max_examples=examples(40))
@given(cases())
def test_what_only_saves_time_changes_nothing(case: Json) -> None:
    fast = compared(play(case))
    use_reference(on=True)
    try:
        plain = compared(play(case))
    finally:
        use_reference(on=False)
    assert plain == fast


@settings(max_examples=examples(20))
@given(cases(), st.integers(0, 9999))
def test_the_order_of_the_cluster_does_not_matter(case: Json, seed: int) -> None:
    other = case | {"cluster": Random(seed).sample(case["cluster"], len(case["cluster"]))}
    assert compared(play(other)) == compared(play(case))


@settings(max_examples=examples(40))
@given(cases())
def test_a_gang_lands_together_or_not_at_all(case: Json) -> None:
    """So no pod waits at Permit for others: when the first of them is bound, enough of them are placed."""
    found = play(case)
    for row in found["groups"]:
        landed = [pod for pod in found["pods"] if pod.get("group") == row["group"] and pod.get("node")]
        assert not landed or row["placed"] >= row["minCount"]


@settings(max_examples=examples(10))
@given(cases())
def test_an_anonymized_snapshot_has_the_same_gangs(case: Json) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = written([*case["cluster"], *case["manifest"]], Path(folder) / "cluster.json")
        assert _pending(source, case["gates"]) == _pending(_anonymized(source), case["gates"])


def _anonymized(source: str) -> str:
    saved = saved_objects(collect_dump([source], stdin=io.BytesIO()), taken_at=Moment(""), images=True, anonymize=True)
    path = Path(source).with_name("snapshot.json")
    path.write_bytes(b"".join(format_of("snapshot.json").encode(saved.objects)))
    return str(path)


def _pending(source: str, gates: str) -> list[tuple[str, int, int]]:
    """How the groups fare: their names are others."""
    report = kwhatif.preempt(kwhatif.load(source, kubernetes_version="1.37", feature_gates=gates))
    rows = (json.loads(report.to_json())["podGroups"] or {"groups": []})["groups"]
    return sorted((row["outcome"], row["pods"], row["minCount"]) for row in rows)
