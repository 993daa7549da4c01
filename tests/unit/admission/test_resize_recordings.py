"""Resizes that a real API server was asked for (`tests/e2e/record_resizes.py`): accepted, or refused in the same words."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.pod import Pod
from tests import FIXTURES

Json = dict[str, Any]
RECORDED: Json = json.loads((FIXTURES / "resize" / "recordings.json").read_text())
RECORDINGS: list[Json] = RECORDED["cases"]
#: Where a dump may have lost what decides: the node; what the kubelet reports, which all do that can resize.
UNKNOWN = {"on a node that is not there", "a kubelet that reports no resources"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=[each["name"] for each in RECORDINGS])
def test_the_api_server_answers_the_same(recording: Json) -> None:
    (pod,) = (each for each in recording["objects"] if each["kind"] == "Pod")
    key = f"pod/{pod['metadata']['namespace']}/web-0"
    spec: Json = {"containers": copy.deepcopy(pod["spec"]["containers"])}
    for container, resources in zip(spec["containers"], recording["wants"], strict=True):
        container["resources"] = resources
    if "initWants" in recording:
        spec["initContainers"] = [{**pod["spec"]["initContainers"][0], "resources": recording["initWants"]}]
    session = kwhatif.load([*RECORDED["nodes"], *recording["objects"]], kubernetes_version="1.36")
    edit = {"patch": {"object": key, "merge": {"spec": spec}}}
    if recording["status"] >= 300 and recording["name"] not in UNKNOWN:
        with pytest.raises(kwhatif.InputError) as refused:
            kwhatif.edited(session, edit)
        assert [each.message for each in refused.value.problems] == [recording["message"]]
        return
    found = kwhatif.edited(session, edit).cluster.all(Pod)[key.removeprefix("pod/")].spec.containers
    stored = recording["resources"] or recording["wants"]
    assert [(row.resources.requests, row.resources.limits) for row in found] == [
        (each.get("requests", {}), each.get("limits", {})) for each in stored
    ]
