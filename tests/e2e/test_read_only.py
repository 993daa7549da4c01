"""The API server's own audit log: what kwhatif asked for, and that nothing came of it."""

import time
from typing import Any

import pytest
import yaml

from kwhatif.sources.decoding.kinds import ASKED
from tests.e2e.conftest import Run
from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import PODS, Demo

Event = dict[str, Any]
NOT_EVERYWHERE = {asked.plural for asked in ASKED if not asked.is_everywhere}


@pytest.fixture(scope="module")
def asked(plane: ControlPlane, demo: Demo, kwhatif: Run, tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """Everything that kwhatif sent to the server in its life, every command at least once."""
    before = demo.versions()
    folder = tmp_path_factory.mktemp("saved")
    kwhatif("schedule", *PODS)
    kwhatif("preempt", *PODS, "--explain")
    kwhatif("preempt")
    kwhatif("gate", *PODS)
    kwhatif("snapshot", "save", folder / "cluster.json")
    kwhatif("snapshot", "save", folder / "anonymous.yaml.gz", "--anonymize")
    kwhatif("snapshot", "info")
    assert demo.versions() == before
    return _settled(plane)


def test_only_one_user_asked(asked: list[Event]) -> None:
    assert {event["user"]["username"] for event in asked} == {"kwhatif"}


def test_nothing_but_get_and_list(asked: list[Event]) -> None:
    assert {event["verb"] for event in asked} == {"get", "list"}
    assert {event["requestURI"] for event in asked if event["verb"] == "get"} == {"/version"}


def test_no_secrets_nor_configmaps_and_all_of_the_role(asked: list[Event], kwhatif: Run) -> None:
    role = yaml.safe_load(kwhatif("rbac").stdout)
    allowed = {
        (group, resource)
        for rule in role["rules"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
    }
    listed = [event["objectRef"] for event in asked if event["verb"] == "list"]
    assert {(ref.get("apiGroup", ""), ref["resource"]) for ref in listed} == allowed
    assert not {"secrets", "configmaps"} & {ref["resource"] for ref in listed}


def test_nothing_was_refused(asked: list[Event]) -> None:
    served = [event for event in asked if event.get("objectRef", {}).get("resource") not in NOT_EVERYWHERE]
    assert {event["responseStatus"]["code"] for event in served} == {200}
    assert {event["responseStatus"]["code"] for event in asked} <= {200, 404}
    assert {event["annotations"]["authorization.k8s.io/decision"] for event in asked} == {"allow"}


def test_the_role_is_what_allowed_it(asked: list[Event]) -> None:
    reasons = {event["annotations"]["authorization.k8s.io/reason"] for event in asked if event["verb"] == "list"}
    assert reasons == {'RBAC: allowed by ClusterRoleBinding "kwhatif" of ClusterRole "kwhatif" to User "kwhatif"'}


def _settled(plane: ControlPlane) -> list[Event]:
    """What kwhatif asked, once the last request is in the log: it is written when the answer is already on its way."""
    events: list[Event] = []
    while True:
        time.sleep(1)
        later = [event for event in plane.audit() if event["userAgent"].startswith("kwhatif/")]
        if len(later) == len(events):
            return later
        events = later
