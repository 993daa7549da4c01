"""A script played on the queue: its operations, the clock, and the state after each."""

from collections.abc import Mapping
from typing import Any

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import SECOND, parse_time
from kwhatif.scheduler.queue.hinting import Answers, Occurrence, QueueOptions
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from tests.queue_scripts.api import Api, stamp
from tests.queue_scripts.scheduler import Scheduler

Json = dict[str, Any]
#: 2026-01-01T00:00:00Z
START = 1_767_225_600 * SECOND
MILLISECOND = SECOND // 1000


def play(script: Json) -> list[Json]:
    """The states after every operation of the script."""
    player = Player(script)
    return [player.step(number, operation) for number, operation in enumerate(script["operations"])]


def seconds(time: int) -> float:
    return round((time - START) / SECOND, 3)


class Player:
    def __init__(self, script: Json) -> None:
        config = script.get("config", {})
        options = QueueOptions(
            config.get("podInitialBackoffSeconds", 1) * SECOND, config.get("podMaxBackoffSeconds", 10) * SECOND
        )
        self.api = Api()
        for raw in script["cluster"]:
            self.api.create(raw)
        cluster = Cluster(watch.new for watch in self.api.take() if watch.new is not None)
        self.scheduler = Scheduler(self.api, cluster, options, self.witness)
        self.queue = self.scheduler.queue
        self.queue.now = START
        self.events: list[Json] = []

    def witness(self, occurrence: Occurrence, answers: Mapping[str, Answers], *, replay: bool) -> None:
        event: Json = {"event": occurrence.event.label, "object": occurrence.key}
        if replay:
            event["replay"] = True
        event["hints"] = {
            pod: {plugin: hint.value for plugin, hint in hints.items()} for pod, hints in answers.items() if hints
        }
        if event["hints"]:
            self.events.append(event)

    # --- the clock ----------------------------------------------------------------------------------------

    def advance(self, nanoseconds: int) -> None:
        end = self.queue.now + nanoseconds
        while (second := self.queue.now - self.queue.now % SECOND + SECOND) <= end:
            self.queue.now = second
            self.queue.flush_backoff()
            if (second - START) % (30 * SECOND) == 0:
                self.queue.flush_unschedulable_leftover()
        self.queue.now = end

    # --- operations ---------------------------------------------------------------------------------------

    def step(self, number: int, operation: Json) -> Json:
        self.events = []
        tried: list[Json] = []
        if operation["op"] == "advance":
            self.advance(round(operation["seconds"] * 1000) * MILLISECOND)
            done = True
        elif operation["op"] == "schedule":
            tried = self.schedule(operation)
            done = bool(tried)
        else:
            self.advance(MILLISECOND)
            done = self.change(operation)
        return self.state(number, tried, ignored=not done)

    def schedule(self, operation: Json) -> list[Json]:
        tried: list[Json] = []
        during = operation.get("during", [])

        def meanwhile() -> None:
            for one in during:
                self.change(one)

        while len(self.queue.active.queue) or len(self.queue.backoff.pod_backoff):
            self.advance(MILLISECOND)
            result = self.scheduler.schedule_one(meanwhile, operation.get("fail", ""))
            if result is not None:
                tried.append({**result, "t": seconds(self.queue.now)})
            if operation.get("until") != "idle":
                break
        return tried

    def change(self, operation: Json) -> bool:
        """Whether there was anything to do."""
        done = self._change(operation)
        self.scheduler.deliver()
        return done

    def _change(self, operation: Json) -> bool:
        if operation["op"] == "create":
            return self.create(operation["object"])
        namespace, name = operation.get("namespace", ""), operation.get("name", "")
        key = f"{namespace}/{name}" if namespace else name
        if operation["op"] == "finish":
            return self.finish(key)
        kind = operation["kind"]
        if operation["op"] == "patch":
            return self.api.patch(kind, key, operation["patch"])
        if operation.get("graceful") and kind == "Pod":
            raw = self.api.find("Pod", key)
            deleting = raw is not None and "deletionTimestamp" in raw["metadata"]
            return not deleting and self.scheduler.terminate(key)
        return self.api.delete(kind, key)

    def create(self, raw: Json) -> bool:
        if raw["kind"] == "Pod" and raw["spec"].get("nodeName"):
            raw = {**raw, "status": {"startTime": stamp(self.queue.now), **raw.get("status", {})}}
        return self.api.create(raw)

    def finish(self, key: str) -> bool:
        ending = [
            (parse_time(raw["metadata"]["deletionTimestamp"]), pod)
            for pod, raw in self.api.pods()
            if raw["metadata"].get("deletionTimestamp") and key in ("", pod)
        ]
        for _, pod in sorted(ending):
            self.api.delete("Pod", pod)
            self.scheduler.deliver()
        return bool(ending)

    # --- the state ----------------------------------------------------------------------------------------

    def state(self, number: int, tried: list[Json], *, ignored: bool) -> Json:
        queue = self.queue
        pool = sorted(queue.unschedulable, key=lambda info: info.key)
        parts: dict[str, list[QueuedPodInfo]] = {
            "active": queue.active.queue.list(),
            "backoff": queue.backoff.pod_backoff.list(),
            "errorBackoff": queue.backoff.pod_error_backoff.list(),
            "unschedulable": [info for info in pool if not info.gated],
            "gated": [info for info in pool if info.gated],
        }
        state: Json = {"op": number, "t": seconds(queue.now)}
        if ignored:
            state["ignored"] = True
        state |= {"events": self.events, "tried": tried}
        state |= {part: [info.key for info in infos] for part, infos in parts.items()}
        state["pods"] = {info.key: self.record(part, info) for part, infos in parts.items() for info in infos}
        state["nominated"] = {node: [ref.key for ref in refs] for node, refs in queue.nominator.nominated.items()}
        live = [
            (key, raw)
            for key, raw in self.api.pods()
            if raw.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        ]
        state["assigned"] = {key: raw["spec"]["nodeName"] for key, raw in live if raw["spec"].get("nodeName")}
        state["terminating"] = sorted(key for key, raw in live if raw["metadata"].get("deletionTimestamp"))
        return state

    def record(self, part: str, info: QueuedPodInfo) -> Json:
        record: Json = {
            "queue": part,
            "since": seconds(info.timestamp),
            "attempts": info.attempts,
            "rejections": info.unschedulable_count,
            "errors": info.consecutive_errors_count,
        }
        if part in ("backoff", "errorBackoff"):
            record["until"] = round(seconds(self.queue.backoff.backoff_time(info)))
        if part in ("unschedulable", "gated"):
            record["rejectedBy"] = sorted(info.rejectors)
        if info.gated:
            record["gate"] = info.gating_plugin
        return record
