"""The pods of a cluster as a watch of them goes on: those that are there, and those that are gone, as last seen."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import urllib3

from tests.e2e.api import Api

Pod = dict[str, Any]
_PODS = "/api/v1/pods"


class Watched:
    """What a watch has brought so far. All times are those of `time.monotonic`."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._over = False
        listed = api.send("GET", _PODS).body
        self._version = listed["metadata"]["resourceVersion"]
        self._there: dict[str, Pod] = {pod["metadata"]["uid"]: pod for pod in listed["items"]}
        self._gone: dict[str, Pod] = {}
        self.changed = time.monotonic()

    def there(self) -> list[Pod]:
        with self._lock:
            return list(self._there.values())

    def gone(self) -> dict[str, Pod]:
        """UID -> the pod as it was last seen."""
        with self._lock:
            return dict(self._gone)

    def follow(self) -> None:
        """Watch until `end`."""
        while not self._over:
            try:
                for line in self._api.stream(f"{_PODS}?watch=1&timeoutSeconds=300&resourceVersion={self._version}"):
                    self._take(json.loads(line))
                    if self._over:
                        return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)  # the server is going, or has cut the watch: go on where it ended

    def end(self) -> None:
        self._over = True

    def _take(self, event: dict[str, Any]) -> None:
        pod = event["object"]
        assert event["type"] in {"ADDED", "MODIFIED", "DELETED"}, event
        uid = pod["metadata"]["uid"]
        with self._lock:
            self._version = pod["metadata"]["resourceVersion"]
            self.changed = time.monotonic()
            if event["type"] == "DELETED":
                self._there.pop(uid, None)
                self._gone[uid] = pod
            else:
                self._there[uid] = pod


@contextmanager
def watched(api: Api) -> Iterator[Watched]:
    """Watch the pods for as long as the `with` lasts."""
    pods = Watched(api)
    with in_background(pods.follow, pods.end):
        yield pods


@contextmanager
def in_background(work: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
    """Run `work` in a thread, which ends soon after `end` is called. Whatever it raises is raised here, in the end."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            yield
        finally:
            end()
        future.result()
