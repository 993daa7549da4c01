"""A saved snapshot is as good as the cluster: same reports; an anonymized one: same decisions, under other names.

Over all conformance cases, in process. Each case's candidate is put into the cluster as a pending pod for the second
proof, so that it is renamed with it.
"""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.release import find_release
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.save import Moment, Saved, saved_objects
from kwhatif.sources.scheduler.profiles import read_scheduler_config
from tests.asking import each_alone, stored_pods
from tests.conformance.test_conformance import CASES
from tests.examples import slow_but_each
from tests.old_names import OldNames, renamed

Json = dict[str, Any]
#: A snapshot with its names is the one of which the names were not replaced: what is lost is lost from both. So of each
#: family only some are asked what they say under their own names.
EVERY = 3


def each(cases: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: f"{case.parent.name}/{case.name}")


def collected(case: Path) -> Collected:
    """The case's cluster as it was read."""
    return collect_dump([str(case / "cluster.yaml")], stdin=io.BytesIO())


def saved(source: Collected) -> Collected:
    """What is read back of what is saved."""
    return read_back(saved_objects(source, taken_at=Moment(""), images=True, anonymize=False))


def read_back(saved: Saved) -> Collected:
    """What a snapshot becomes when it is read."""
    text = b"".join(format_of("snapshot.json").encode(saved.objects))
    return collect_dump(["-"], stdin=io.BytesIO(text))


def session(source: Collected, case: Path) -> Session:
    config = case / "config.yaml"
    loaded = source.fork().admitted()
    scheduler = (
        read_scheduler_config(str(config), (), stdin=io.BytesIO()).scheduler(find_release(36), None)
        if config.exists()
        else None
    )
    return Session.of(loaded.cluster, profiles=scheduler.profiles if scheduler else None, caveats=loaded.caveats)


def report(source: Collected, case: Path) -> Json:
    asked = session(source, case)
    return json.loads(each_alone(asked, stored_pods(asked, case / "pod.yaml")).to_json())


@each(CASES[::EVERY])
def test_a_saved_snapshot_gives_the_report_of_its_source(case: Path) -> None:
    source = collected(case)
    assert report(saved(source), case) == report(source, case)


def with_candidate(case: Path) -> tuple[Collected, list[str]]:
    """The case's cluster with the candidate as one of its pending pods, and its key."""
    source = collected(case)
    asked = session(source, case)
    pods = stored_pods(asked, case / "pod.yaml")
    for pod in pods:
        source.cluster.add(pod)
    return source, [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods]


def decisions(source: Collected, case: Path, keys: list[str]) -> list[Json]:
    asked = session(source, case)
    pods = [asked.cluster.all(Pod)[key] for key in keys]
    found: list[Json] = json.loads(each_alone(asked, pods).to_json())["decisions"]
    for decision in found:
        for unknown in (decision["near"] or {}).get("unknown", ()):
            del unknown["near"]  # names that are spelled much the same, which new names are not
    return found


#: Why a selector fails is not kept, only that it does.
CEL = re.compile(r"(?<=CEL runtime error: )[^\"]*(?:\\.[^\"]*)*")


@each(slow_but_each(CASES, EVERY))
def test_an_anonymized_snapshot_gives_the_decisions_of_its_source(case: Path, tmp_path: Path) -> None:
    """Byte for byte, under the old names; a configuration has to be renamed with the cluster."""
    source, keys = with_candidate(case)
    about = saved_objects(source, taken_at=Moment(""), images=True, anonymize=True)
    config = case / "config.yaml"
    if config.exists():
        (tmp_path / "config.yaml").write_text(renamed(config.read_text(), about.names))
    new = ["/".join(about.names.get(part, part) for part in key.split("/")) for key in keys]
    got = OldNames(about.names).within(decisions(read_back(about), tmp_path, new))
    wanted = decisions(source, case, keys)
    assert CEL.sub("", json.dumps(got)) == CEL.sub("", json.dumps(wanted))
