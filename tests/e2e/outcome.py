"""What the real scheduler made of a pod, as far as it can be seen from outside."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.e2e.api import Api, collection, home_of, path_of

#: Seconds: what the scheduler does to the cluster for a pod follows its decision closely, but not at once.
_PATIENCE, _QUIET = 30.0, 2.0


class Outcome(NamedTuple):
    """What became of a pod."""

    placed: str | None = None
    nominated: str | None = None
    victims: frozenset[str] = frozenset()
    #: Of the first FailedScheduling event.
    message: str = ""


def decide(api: Api, manifest: dict[str, Any]) -> Outcome:
    """Create a pod, and see what the scheduler does about it, until it does nothing more."""
    pod = api.send("POST", home_of(manifest), manifest).body
    seen, since = Outcome(), time.monotonic()

    def at_rest() -> bool:
        nonlocal seen, since
        if (now := _look(api, pod)) != seen:
            seen, since = now, time.monotonic()
        return seen != Outcome() and time.monotonic() > since + _QUIET

    until(at_rest, f"the scheduler is done with {path_of(pod)}")
    return seen


def until(condition: Callable[[], bool], words: str) -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {_PATIENCE:.0f} seconds: {words}"
        time.sleep(0.1)


def complaints(api: Api, pod: dict[str, Any]) -> list[str]:
    """The messages of a pod's FailedScheduling events, in the order of their appearance."""
    home = f"/apis/events.k8s.io/v1/namespaces/{pod['metadata']['namespace']}/events"
    events = [
        (event["eventTime"], event["note"])
        for event in api.send("GET", home).body["items"]
        if event["reason"] == "FailedScheduling" and event["regarding"].get("uid") == pod["metadata"]["uid"]
    ]
    return [note for _, note in sorted(events)]


def _look(api: Api, pod: dict[str, Any]) -> Outcome:
    now = api.send("GET", path_of(pod)).body
    pods = api.send("GET", collection("Pod", "v1")).body["items"]
    going = (other["metadata"] for other in pods if "deletionTimestamp" in other["metadata"])
    return Outcome(
        now["spec"].get("nodeName"),
        now["status"].get("nominatedNodeName"),
        frozenset(f"{metadata['namespace']}/{metadata['name']}" for metadata in going),
        next(iter(complaints(api, pod)), ""),
    )
