"""Advice on the situations of docs/advise.md: what is advised, that it holds, and that all of it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from tests.advising import nodes_for, outcomes, taken

FIXTURES = Path("fixtures/advise")

#: Situation -> kinds of the advice, the cheapest first.
ADVICE = {
    "apart": ["soften-anti-affinity", "delete-pod", "priority-class"],
    "claim": ["other-name", "create-claim"],
    "cpu": ["tolerate", "uncordon", "request-less", "untaint", "scale-down", "move-pod"],
    "dying": ["wait", "request-less", "move-pod", "scale-down"],
    "evictor": ["wait", "tolerate", "request-less", "move-pod", "untaint", "delete-pod"],
    "gated": ["drop-gates"],
    "gpu": ["tolerate"],
    "huge": ["request-less + request-less"],
    "label": ["drop-selector", "label-node"],
    "large": ["uncordon", "request-less", "add-nodes"],
    "lost": ["create-namespace"],
    "many": ["uncordon", "request-less", "tolerate", "untaint", "scale-down", "priority-class"],
    "memory": ["wait", "tolerate", "request-less", "uncordon", "untaint", "move-pod"],
    "near": ["soften-pod-affinity"],
    "other": ["scheduler-name"],
    "patient": ["tolerate", "uncordon", "request-less", "untaint", "scale-down", "move-pod"],
    "port": ["change-selector", "drop-selector", "change-host-port", "drop-host-port", "label-node", "delete-pod"],
    "quota": ["wait", "request-less", "raise-quota", "delete-pod"],
    "spread": ["widen-skew", "soften-spread", "drop-selector", "request-less", "label-node", "scale-down"],
    "two": ["uncordon + drop-selector", "uncordon + label-node", "drop-selector + request-less"],
    "typo": ["change-selector", "drop-selector", "label-node"],
    "unbound": ["claim-bound"],
}


@pytest.fixture(scope="module")
def cluster() -> kwhatif.Session:
    """The cluster of the situations."""
    return kwhatif.load(str(FIXTURES / "cluster.yaml"))


def _document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FIXTURES / "pods" / f"{name}.yaml").read_text())
    return loaded


def _advised(cluster: kwhatif.Session, document: dict[str, Any]) -> dict[str, Any]:
    (row,) = kwhatif.advise(cluster, document).to_dict()["advise"]["workloads"]
    made: dict[str, Any] = row
    return made


def test_every_situation_is_in_the_table() -> None:
    assert sorted(ADVICE) == sorted(path.stem for path in (FIXTURES / "pods").iterdir())


@pytest.mark.parametrize("name", ADVICE)
def test_advice(name: str, cluster: kwhatif.Session) -> None:
    row = _advised(cluster, _document(name))
    kinds = [" + ".join(change["kind"] for change in advice["changes"]) for advice in row["advice"]]
    assert kinds[: len(ADVICE[name])] == ADVICE[name], kinds


@pytest.mark.parametrize("name", ADVICE)
def test_advice_holds_and_all_of_it_is_needed(name: str, cluster: kwhatif.Session) -> None:
    document = _document(name)
    row = _advised(cluster, document)
    for advice in row["advice"]:
        after = taken(cluster, document, advice["changes"])
        assert nodes_for(after) == advice["fit"], advice
        assert ("Preempts" in outcomes(after)) == bool(advice["victims"])
        for change in advice["changes"]:
            fewer = [other for other in advice["changes"] if other is not change]
            if fewer:
                assert nodes_for(taken(cluster, document, fewer)) < advice["fit"], advice
