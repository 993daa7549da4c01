"""Hold a decision of kwhatif's report against what kube-scheduler itself decided (`fixtures/conformance/README.md`)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Difference = tuple[str, object, object]
Json = Mapping[str, Any]

#: Since 1.37 the text of a pod that evicts names the node; of equally good ones any.
PLACEMENT = re.compile(r"found a potential placement for pod on node (\S+), preempting (\d+) victims")


def _nonzero(scores: Json) -> dict[str, int]:
    return {plugin: score for plugin, score in scores.items() if score}


def _status(row: Json) -> tuple[object, ...]:
    return row["code"], row["plugin"], sorted(row["reasons"] or [])


def _rows(rows: list[Json]) -> dict[str, Json]:
    return {row["node"]: row for row in rows}


def _check(aspect: str, wanted: object, got: object) -> Iterator[Difference]:
    if wanted != got:
        yield aspect, wanted, got


def _each(aspect: str, wanted: Mapping[str, object], got: Mapping[str, object]) -> Iterator[Difference]:
    for node in sorted(wanted.keys() | got.keys()):
        yield from _check(f"{aspect}[{node}]", wanted.get(node), got.get(node))


def differences(wanted: Json, got: Json) -> Iterator[Difference]:
    """Yield (aspect, wanted, got) for everything in which the scheduler and the report disagree."""
    if "error" in wanted:
        yield from _check("error", wanted["error"], got["message"])
        return
    yield from _check("pod", wanted["pod"], got["pod"])
    yield from _check("priority", wanted["priority"], got["priority"])
    if wanted.get("preEnqueue"):
        gate = got["preEnqueue"] or {"plugin": None, "message": None}
        yield from _check("preEnqueue", wanted["preEnqueue"], f"{gate['plugin']}: {gate['message']}")
        return
    yield from _nodes(wanted, got)
    if wanted["feasible"]:
        yield from _check("outcome", "Placed", got["outcome"])
        yield from _check("ties", wanted["best"], got["ties"])
        return
    yield from _message(wanted, got["message"])
    if wanted.get("unschedulablePlugins") is not None:
        yield from _check("unschedulablePlugins", wanted["unschedulablePlugins"], got["unschedulablePlugins"])
    if wanted.get("preemption"):
        yield from _preemption(wanted["preemption"], got)


def _message(wanted: Json, got: str) -> Iterator[Difference]:
    text = wanted.get("event") or wanted["message"]
    if PLACEMENT.search(text) and (found := PLACEMENT.search(got)):
        victims = {row["node"]: len(row["victims"]) for row in wanted["preemption"]["candidates"]}
        if found[1] in wanted["preemption"]["chosen"] and found[2] == str(victims[found[1]]):
            text, got = (PLACEMENT.sub("", each) for each in (text, got))
    yield from _check("message", text, got)


def _nodes(wanted: Json, got: Json) -> Iterator[Difference]:
    feasible = _rows(got["feasible"])
    yield from _check("feasible", wanted["feasible"], sorted(feasible))
    yield from _each(
        "rejected",
        {node: _status(row) for node, row in (wanted.get("rejected") or {}).items()},
        {node: _status(row) for node, row in _rows(got["rejected"]).items()},
    )
    for node, score in (wanted.get("scores") or {}).items():
        if node in feasible:
            row = feasible[node]
            yield from _check(
                f"scores[{node}]",
                (score["total"], _nonzero(score["plugins"])),
                (row["score"], _nonzero(row["scores"])),
            )


def _preemption(wanted: Json, got: Json) -> Iterator[Difference]:
    preemption = got["preemption"] or {"eligible": None, "candidates": [], "ties": [], "rejected": []}
    yield from _check("preemption.eligible", wanted["eligible"], preemption["eligible"])
    yield from _each(
        "candidates",
        {row["node"]: (row["victims"] or [], row["pdbViolations"]) for row in wanted["candidates"]},
        {
            row["node"]: ([victim["pod"] for victim in row["victims"]], row["pdbViolations"])
            for row in preemption["candidates"]
        },
    )
    yield from _check("preemption.ties", wanted["chosen"], preemption["ties"])
    yield from _check("outcome", "Preempts" if wanted["chosen"] else "Unschedulable", got["outcome"])
    rejected = _rows(preemption["rejected"])
    for node, row in (wanted.get("nodeStatuses") or {}).items():
        mine = rejected.get(node)
        yield from _check(
            f"preemption.rejected[{node}]",
            (row["code"], sorted(row["reasons"] or [])),
            mine and (mine["code"], sorted(mine["reasons"] or [])),
        )
