"""A saved snapshot is as good as the cluster: same reports; an anonymized one: same decisions, under other names.

Over all conformance cases, in process. Each case's candidate is put into the cluster as a pending pod for the second
proof, so that it is renamed with it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from kwhatif.model.pod import Pod
from kwhatif.release import find_release
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.anonymize import Anonymizer
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.redact import redact
from kwhatif.sources.saving.save import Moment, saved_objects
from kwhatif.sources.scheduler.profiles import read_scheduler_config
from kwhatif.whatif.loaded.session import Session
from tests.asking import each_alone, stored_pods
from tests.conformance.test_conformance import CASES

Json = dict[str, Any]
#: The scope has pytest ask everything about a case before it goes on to the next one.
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}", scope="module")


@lru_cache(maxsize=1)  # both proofs ask about a case, one after the other
def collected(case: Path) -> Collected:
    """The case's cluster as it was read; nobody changes it."""
    return collect_dump([str(case / "cluster.yaml")], stdin=io.BytesIO())


def saved(source: Collected, **options: bool) -> Collected:
    """What is read back of what is saved."""
    objects = saved_objects(source, taken_at=Moment(""), **{"images": True, "anonymize": False} | options)
    text = b"".join(format_of("snapshot.json").encode(objects))
    return collect_dump(["-"], stdin=io.BytesIO(text))


def session(source: Collected, case: Path) -> Session:
    config = case / "config.yaml"
    loaded = source.fork().admitted()
    scheduler = (
        read_scheduler_config(str(config), (), stdin=io.BytesIO()).scheduler(find_release(36), None)
        if config.exists()
        else None
    )
    return Session(loaded.cluster, profiles=scheduler.profiles if scheduler else None, caveats=loaded.caveats)


def report(source: Collected, case: Path) -> Json:
    asked = session(source, case)
    return json.loads(each_alone(asked, stored_pods(asked, case / "pod.yaml")).to_json())


@EACH_CASE
def test_a_saved_snapshot_gives_the_report_of_its_source(case: Path) -> None:
    source = collected(case)
    assert report(saved(source), case) == report(source, case)


def with_candidate(case: Path) -> tuple[Collected, list[str]]:
    """The case's cluster with the candidate as one of its pending pods, and its key."""
    source = collected(case).fork()
    asked = session(source, case)
    pods = stored_pods(asked, case / "pod.yaml")
    for pod in pods:
        source.cluster.add(pod)
    return source, [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods]


def decisions(source: Collected, case: Path, keys: list[str]) -> list[Json]:
    asked = session(source, case)
    pods = [asked.cluster.all(Pod)[key] for key in keys]
    return json.loads(each_alone(asked, pods).to_json())["decisions"]


def essence(decision: Json, name: Callable[[str], str]) -> Json:
    """What was decided, by which rules and with which scores; nodes and pods under the names that they are given."""

    def keyed(rows: list[Json], *fields: str) -> dict[str, Json]:
        return {name(row["node"]): {field: row[field] for field in fields} for row in rows}

    decision = quoted(decision, name)

    preemption = decision["preemption"] or {"candidates": [], "rejected": [], "ties": [], "eligible": None}
    for candidate in preemption["candidates"]:
        for victim in candidate["victims"]:
            victim["pod"] = name(victim["pod"])
            victim["budgets"], victim["violates"] = map(names_of(name), (victim["budgets"], victim["violates"]))
            del victim["owner"]
            if victim["workload"]:
                kind, _, key = victim["workload"].partition(" ")
                victim["workload"] = f"{kind} {name(key)}"
    return {field: decision[field] for field in ("outcome", "priority", "message", "unschedulablePlugins")} | {
        "ties": sorted(map(name, decision["ties"])),
        "gate": decision["preEnqueue"] and decision["preEnqueue"]["plugin"],
        "feasible": keyed(decision["feasible"], "score", "scores"),
        "rejected": keyed(decision["rejected"], "code", "plugin", "reasons"),
        "eligible": preemption["eligible"],
        "candidates": keyed(preemption["candidates"], "pdbViolations", "victims", "ladder"),
        "no candidates": keyed(preemption["rejected"], "code", "plugin", "reasons"),
        "best": sorted(map(name, preemption["ties"])),
    }


#: Where the scheduler's texts have names: `persistentvolumeclaim "data" not found`, `PVC default/p-data was not …`.
NAMES = re.compile(r'(?<=\\")[^"\\]*(?=\\")|(?<=\bPVC )[^ ]+/[^ ]+|(?<=\bclaim )[^ :]+/[^ :]+|(?<=\bpod )[^ "]+/[^ "]+')


def quoted(decision: Json, name: Callable[[str], str]) -> Json:
    """With new names in its texts."""
    return json.loads(NAMES.sub(lambda match: name(match[0]), json.dumps(decision)))


def names_of(name: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda texts: sorted(map(name, texts))


#: A case whose configuration names values of labels, which an anonymized snapshot does not know.
NAMED_IN_CONFIGURATION = {"config/001"}


@EACH_CASE
def test_an_anonymized_snapshot_gives_the_decisions_of_its_source(case: Path) -> None:
    source, keys = with_candidate(case)
    objects: Iterator[Any] = (obj for kind in source.cluster.counts() for obj in source.cluster.all(kind).values())
    anonymizer = Anonymizer(redact(obj, images=True) for obj in objects)

    def name(key: str) -> str:
        return "/".join(map(anonymizer.name, key.split("/")))

    wanted = decisions(source, case, keys)
    got = decisions(saved(source, anonymize=True), case, [name(key) for key in keys])
    same = [essence(one, str) for one in got] == [essence(one, name) for one in wanted]
    assert same is (f"{case.parent.name}/{case.name}" not in NAMED_IN_CONFIGURATION)
