"""Recordings: what is known of which moment, what a crash leaves, what is kept, and what is refused."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.kube.model.pod import Pod
from kwhatif.sources.dumps.recording import Recording
from kwhatif.sources.saving import record
from kwhatif.sources.saving.record import Recorder
from tests.watching import Watched, World

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Recorded:
    """A cluster with a pod whose name says when it came, every minute another one."""

    def __init__(self, folder: Path, keep: float = 86_400) -> None:
        self.folder = folder
        self._keep = keep
        self._random = Random(7)
        self.api_server = World()
        self.api_server.change(self._random)
        self.watched = Watched(self.api_server.all_listed())
        self.restart()

    def restart(self) -> None:
        self.recorder = Recorder(str(self.folder), every=60, keep=self._keep)

    def minute(self, number: float, *, is_known: bool = True, name: str = "") -> None:
        pod = {"metadata": {"namespace": "x", "name": name or f"m{number}"}, "spec": {"containers": [{"name": "c"}]}}
        self.watched.take([self.api_server.put("Pod", pod)])
        self.recorder.note(self.watched.as_read(at(number)), at(number), is_known=is_known)

    def pods(self, minutes: float | None = None) -> set[str]:
        moment = None if minutes is None else START + timedelta(minutes=minutes)
        keys = kwhatif.load(str(self.folder), at=moment).cluster.all(Pod)
        return {key.removeprefix("x/") for key in keys if key.startswith("x/m")}

    @property
    def changes(self) -> Path:
        return max(self.folder.glob("*.changes"))


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "history")


def test_the_last_moment_before_the_time_is_read(recorded: Recorded) -> None:
    for number in range(4):
        recorded.minute(number)
    assert recorded.pods(0) == {"m0"}
    assert recorded.pods(1.9) == {"m0", "m1"}
    assert recorded.pods(3.5) == recorded.pods() == {"m0", "m1", "m2", "m3"}
    session = kwhatif.load(str(recorded.folder), at=START + timedelta(minutes=2.5))
    assert (session.taken_at, session.age) == (at(2), 30)


def test_it_is_read_however_the_time_is_written(recorded: Recorded) -> None:
    recorded.minute(0)
    east = START.astimezone().replace(microsecond=500)
    assert kwhatif.load(str(recorded.folder), at=east).taken_at == at(0)
    with pytest.raises(ValueError, match="no time zone"):
        kwhatif.load(str(recorded.folder), at=datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused


def refused(recorded: Recorded, minutes: float) -> str:
    with pytest.raises(InputError) as wrong:
        Recording(str(recorded.folder), at(minutes)).objects()
    assert len(wrong.value.problems) == 1
    assert wrong.value.problems[0].hint
    return wrong.value.problems[0].message


def test_what_was_not_recorded_is_not_known(recorded: Recorded) -> None:
    recorded.minute(0)
    recorded.minute(1)
    recorded.minute(9, is_known=False)  # its watch was broken
    recorded.restart()  # nor is it known what happened until it began again
    recorded.minute(20)
    recorded.minute(25)  # it was only late
    assert refused(recorded, -1) == f"the recording begins at {at(0)}: what was at {at(-1)} is not known"
    assert refused(recorded, 5) == f"nothing was recorded between {at(1)} and {at(9)}: what was at {at(5)} is not known"
    assert refused(recorded, 15).startswith(f"nothing was recorded between {at(9)} and {at(20)}")
    assert refused(recorded, 27) == f"the recording ends at {at(25)}: what was at {at(27)} is not known"
    assert recorded.pods(2) == {"m0", "m1"}  # as long as a moment counts
    assert recorded.pods(24) == {"m0", "m1", "m9", "m20"}
    assert recorded.pods(26) == {"m0", "m1", "m9", "m20", "m25"}


def test_a_crash_leaves_what_was_written_before(recorded: Recorded) -> None:
    for number in range(3):
        recorded.minute(number)
    whole = recorded.changes.read_bytes()
    ends = [place for place, byte in enumerate(whole, 1) if byte == ord("\n")]
    for cut in (*range(ends[-2], len(whole), 97), len(whole) - 1):
        recorded.changes.write_bytes(whole[:cut])
        assert recorded.pods() == {"m0", "m1"}
    recorded.changes.write_bytes(whole[: ends[0] - 5])  # not even its first line
    assert recorded.pods() == {"m0"}
    recorded.changes.write_bytes(whole[: ends[-2] + 9])
    recorded.restart()
    recorded.minute(2.5)
    assert recorded.pods(1) == {"m0", "m1"}
    assert recorded.pods() == {"m0", "m1", "m2", "m2.5"}


def damage(text: bytes) -> bytes:
    first, second, *rest = text.split(b"\n")
    return b"\n".join([first, second[: len(second) // 2], *rest])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damage, "line 2: "),
        (lambda text: text.replace(b'"at":"2026', b'"at":"20X6', 1), "line 2: "),
        (lambda text: b"{}\n" + text, "line 1: "),
    ],
)
def test_damage_elsewhere_is_an_error(recorded: Recorded, spoil: Callable[[bytes], bytes], said: str) -> None:
    for number in range(3):
        recorded.minute(number)
    recorded.changes.write_bytes(spoil(recorded.changes.read_bytes()))
    with pytest.raises(InputError, match="this part of a recording is damaged: " + said):
        kwhatif.load(str(recorded.folder))


def test_a_snapshot_that_is_cut_short_or_gone_is_an_error(recorded: Recorded) -> None:
    recorded.minute(0)
    (snapshot,) = recorded.folder.glob("*.json.gz")
    snapshot.write_bytes(snapshot.read_bytes()[:-40])
    with pytest.raises(InputError, match=str(snapshot.name)):
        kwhatif.load(str(recorded.folder))
    snapshot.unlink()
    with pytest.raises(InputError, match="has lost its snapshots"):
        kwhatif.load(str(recorded.folder))


def test_parts_follow_each_other_and_old_ones_go(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, keep=2.5 * 3600)
    for number in range(0, 600, 20):
        recorded.minute(number)
    begins = sorted(path.name for path in tmp_path.glob("*.json.gz"))
    assert begins == [f"20260101T{hour}0000Z.json.gz" for hour in (18, 19, 20, 21)]
    assert sorted(path.stem for path in tmp_path.glob("*.changes")) == [name.split(".")[0] for name in begins]
    assert len(recorded.pods(500)) == 26
    assert refused(recorded, 100).startswith("the recording begins at 2026-01-01T18:00:00Z")


def test_many_changes_begin_another_part(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_FEW", 0)
    monkeypatch.setattr(record, "_LARGEST", 0)
    for number in range(3):
        recorded.minute(number)
    assert len(list(recorded.folder.glob("*.json.gz"))) == 3
    assert recorded.pods(1.5) == {"m0", "m1"}


def test_a_clock_that_is_put_back_leads_to_no_earlier_moment(recorded: Recorded) -> None:
    recorded.minute(5)
    recorded.minute(3)
    recorded.restart()
    recorded.minute(2)
    assert recorded.pods(5) == {"m5", "m3", "m2"}
    assert refused(recorded, 3).startswith(f"the recording begins at {at(5)}")


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds something else: notes\.txt"):
        Recorder(str(tmp_path), every=60, keep=60)
    with pytest.raises(InputError, match="cannot be written"):
        Recorder(str(tmp_path / "notes.txt"), every=60, keep=60)


def test_only_a_recording_has_moments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only a recording has several moments"):
        kwhatif.load("fixtures/demo/cluster.yaml", at=START)
