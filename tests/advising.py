"""Advice taken at its word: the patches of a report applied to manifests, its edits to a cluster."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import kwhatif


def patched(document: Mapping[str, Any], patch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document after a JSON patch (RFC 6902)."""
    made: dict[str, Any] = deepcopy(dict(document))
    for operation in patch:
        *steps, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        here: Any = made
        for step in steps:
            here = here[int(step)] if isinstance(here, list) else here[step]
        if operation["op"] == "remove":
            del here[int(last) if isinstance(here, list) else last]
        elif isinstance(here, list):
            place = len(here) if last == "-" else int(last)
            here[place : place + (operation["op"] == "replace")] = [operation["value"]]
        else:
            assert operation["op"] == "add" or last in here, operation
            here[last] = operation["value"]
    return made


def taken(
    cluster: kwhatif.Session, document: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What becomes of a manifest with these changes of an advice, as `schedule` reports it."""
    edits = [edit for change in changes for edit in change["edits"]]
    if edits:
        cluster = kwhatif.edited(cluster, *edits, namespace=document["metadata"].get("namespace"))
    for change in changes:
        document = patched(document, change["patch"])
    return kwhatif.schedule(cluster, document).to_dict()


def outcomes(report: Mapping[str, Any]) -> list[str]:
    """Of all decisions."""
    return [decision["outcome"] for decision in report["decisions"]]


def nodes_for(report: Mapping[str, Any]) -> int:
    """How many pods get a node, perhaps by evicting others."""
    return sum(outcome in ("Placed", "Preempts") for outcome in outcomes(report))
