"""Whoever plays the scenarios, in whatever order: the report is the same, byte for byte."""

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError, OutOfTime, WorkersLost
from kwhatif.questions.scenarios import NodePlayer, Outages, ScenarioOutcome, SweepScenario
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import together
from kwhatif.simulation.parameters import Parameters
from kwhatif.sweep import processes
from kwhatif.sweep.processes import blocks, default_jobs, play_here, play_in_processes
from tests.dumps import DEMO

HOSTNAME = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def demo() -> Session:
    return kwhatif.load(str(DEMO))


@pytest.fixture(scope="module")
def alone(demo: Session) -> str:
    return kwhatif.outage(demo, each=HOSTNAME, jobs=1).to_json()


def player(session: Session) -> NodePlayer:
    return NodePlayer(session, Parameters(), Outages())


def scenarios(session: Session) -> list[SweepScenario]:
    return together(session, [SweepScenario(node.name, (node.name,)) for node in session.state.nodes])


def test_processes_say_what_one_says(demo: Session, alone: str) -> None:
    assert kwhatif.outage(demo, each=HOSTNAME, jobs=3).to_json() == alone


def test_processes_that_share_no_memory_say_it_too(demo: Session) -> None:
    asked = scenarios(demo)[:4]
    spawned = list(play_in_processes(player(demo), asked, 2, "spawn"))
    assert sorted(spawned, key=name) == sorted(play_here(player(demo), asked), key=name)


def name(outcome: ScenarioOutcome) -> str:
    return outcome.row.scenario


def test_the_order_of_scenarios_does_not_matter(demo: Session) -> None:
    asked, one = scenarios(demo), player(demo)
    there = {name(outcome): outcome for outcome in map(one.play, asked)}
    back = {name(outcome): outcome for outcome in map(one.play, reversed(asked))}
    assert there == back


@pytest.mark.parametrize(
    "question", [Outages(), Outages(deleted=True), DrainOptions(ignore_daemonsets=True, force=True)]
)
def test_a_scenario_that_is_over_leaves_no_circle_of_references(
    demo: Session, question: DrainOptions | Outages
) -> None:
    playing = NodePlayer(demo, Parameters(), question)
    played = playing.played(("general-a1",))
    engine = played.engine
    parts = [weakref.ref(part) for part in (engine, engine.api_server, engine.scheduler, engine.scheduler.queue)]
    gc.disable()  # which would find circles, but late: hundreds of scenarios occupied memory until then
    try:
        engine.end()
        del played, engine
        assert [part() for part in parts] == [None] * 4
    finally:
        gc.enable()


def test_a_player_is_the_same_elsewhere(demo: Session) -> None:
    one = NodePlayer(demo, Parameters(), DrainOptions(ignore_daemonsets=True, pod_selector="app!=x"))
    other = pickle.loads(pickle.dumps(one))
    for scenario in scenarios(demo)[:3]:
        assert one.play(scenario) == other.play(scenario)


class Mortal(NodePlayer):
    """The process of a worker is killed at a scenario, as where memory runs out: the first time, or whenever."""

    def __init__(self, session: Session, mark: Path, *, always: bool = False) -> None:
        super().__init__(session, Parameters(), Outages())
        self._mark, self._always = mark, always
        self._parent = os.getpid()

    def play(self, scenario: SweepScenario) -> ScenarioOutcome:
        dies = scenario.name == "batch-b1" and (self._always or not self._mark.exists())
        if dies and os.getpid() != self._parent:
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().play(scenario)


def deadly_first(session: Session) -> list[SweepScenario]:
    """A worker gets the first block."""
    return sorted(scenarios(session), key=lambda scenario: scenario.name != "batch-b1")


def left() -> list[Any]:
    """The processes that do not end; those that were stopped get the time that a busy machine needs."""
    for process in multiprocessing.active_children():
        process.join(30)
    return multiprocessing.active_children()


needs_fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")


@needs_fork
def test_what_a_lost_process_was_at_another_does(demo: Session, tmp_path: Path) -> None:
    asked = deadly_first(demo)
    found = list(play_in_processes(Mortal(demo, tmp_path / "killed"), asked, 2))
    assert sorted(found, key=name) == sorted(play_here(player(demo), asked), key=name)
    assert (tmp_path / "killed").exists()
    assert left() == []


@needs_fork
def test_processes_that_are_lost_again_and_again(demo: Session, tmp_path: Path) -> None:
    with pytest.raises(WorkersLost, match="batch-b1"):
        list(play_in_processes(Mortal(demo, tmp_path / "killed", always=True), deadly_first(demo), 2))
    assert left() == []


@needs_fork
def test_this_process_plays_too(demo: Session) -> None:
    outcomes = play_in_processes(player(demo), scenarios(demo), 3)
    first = next(outcomes)
    assert len(multiprocessing.active_children()) == 2
    found = [name(outcome) for outcome in (first, *outcomes)]
    assert sorted(found) == sorted(scenario.name for scenario in scenarios(demo))
    assert left() == []


@needs_fork
def test_some_of_all_parts_are_played_before_there_are_others(demo: Session) -> None:
    nodes = scenarios(demo)
    many = [SweepScenario(f"{number:02}", nodes[number % len(nodes)].nodes) for number in range(64)]
    outcomes = play_in_processes(player(demo), many, 2)
    first = []
    for outcome in outcomes:
        if multiprocessing.active_children():
            break
        first.append(name(outcome))
    assert first == ["00", "16", "32", "48"]
    found = [*first, name(outcome), *map(name, outcomes)]
    assert sorted(found) == [scenario.name for scenario in many]
    assert left() == []


@needs_fork
def test_a_worker_has_something_in_reserve_however_small_the_blocks_are(demo: Session) -> None:
    """It need not wait while this process plays."""
    team = processes._Team(multiprocessing.get_context("fork"), player(demo), [[each] for each in scenarios(demo)[:4]])
    try:
        team.hire()
        assert [len(block) for _, block in team._working.values()] == [2]
        assert len(team.left) == 2
    finally:
        team.dismiss()


@needs_fork
def test_workers_have_as_much_to_do_as_this_process_plays_next(demo: Session) -> None:
    """A lost zone takes as long as many lost nodes: meanwhile workers are given nothing."""
    nodes = scenarios(demo)[:6]
    zone = SweepScenario("zone", tuple(each.name for each in nodes[:4]))
    given = processes._Team(
        multiprocessing.get_context("fork"), player(demo), [[nodes[0]], [zone], *[[each] for each in nodes[1:]]]
    )
    try:
        given.hire()
        (_, block), *_ = given._working.values()
        assert [each.name for each in block] == [nodes[0].name, "zone"]
        block.clear()
        given._stock_up(1)
        assert len(block) == 1
        given._stock_up(len(zone.nodes))
        assert len(block) == len(zone.nodes)
    finally:
        given.dismiss()


def test_who_stops_asking_leaves_no_process_behind(demo: Session) -> None:
    outcomes = play_in_processes(player(demo), scenarios(demo), 2)
    assert isinstance(outcomes, Iterator)
    next(outcomes)
    assert multiprocessing.active_children() != []
    with pytest.raises(KeyboardInterrupt):
        outcomes.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert left() == []


class Slow(NodePlayer):
    """Another process takes longer than anything waits."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Parameters(), Outages())
        self._parent = os.getpid()

    def play(self, scenario: SweepScenario) -> ScenarioOutcome:
        if os.getpid() != self._parent:
            time.sleep(600)
        return super().play(scenario)


@needs_fork
def test_a_process_that_is_not_awaited_any_more_is_ended(demo: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where this one has nothing to play."""
    monkeypatch.setattr(processes, "_LOOK", 0.01)
    slow = Slow(demo)
    outcomes = play_in_processes(slow, scenarios(demo)[:4], 2)
    next(outcomes)
    slow.is_awaited = lambda: False
    with pytest.raises(OutOfTime):
        list(outcomes)
    assert left() == []


class Broken(NodePlayer):
    def play(self, scenario: SweepScenario) -> ScenarioOutcome:
        raise ZeroDivisionError(scenario.name)


@needs_fork
def test_what_goes_wrong_elsewhere_goes_wrong_here(demo: Session) -> None:
    with pytest.raises(ZeroDivisionError):
        list(play_in_processes(Broken(demo, Parameters(), Outages()), scenarios(demo), 2))


def test_blocks_leave_nothing_out() -> None:
    asked = [SweepScenario(str(number), ()) for number in range(100)]
    for workers in (1, 2, 7):
        made = list(blocks(asked, workers))
        assert [scenario for block in made for scenario in block] == asked
        assert len(made) >= workers


def test_what_concerns_many_nodes_is_a_block_by_itself() -> None:
    zones = [SweepScenario(name, tuple(f"{name}{number}" for number in range(50))) for name in "ab"]
    asked = [*(SweepScenario(str(number), (str(number),)) for number in range(200)), *zones]
    made = list(blocks(asked, 2))
    assert [scenario for block in made for scenario in block] == asked
    assert [len(block) for block in made[-3:]] == [200 % 12 or 12, 1, 1]


def test_processes_have_to_be_worth_while(demo: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_jobs(player(demo), 12) == 1
    monkeypatch.setattr(processes, "available_cores", lambda: 4)
    assert (default_jobs(player(demo), 1_000_000), default_jobs(player(demo), 2)) == (4, 1)


# --- a file to go on from ---------------------------------------------------------------------------------


def test_a_sweep_that_was_cut_goes_on(
    demo: Session, alone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sweep.jsonl"

    def cut(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kwhatif.outage(demo, each=HOSTNAME, jobs=1, resume=str(file), progress=cut)
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 5
    file.write_bytes(b"".join(lines)[:-20])
    played: list[str] = []
    play = NodePlayer.play

    def counted(self: NodePlayer, scenario: SweepScenario) -> ScenarioOutcome:
        played.append(scenario.name)
        return play(self, scenario)

    monkeypatch.setattr(NodePlayer, "play", counted)
    steps: list[tuple[int, int]] = []
    for _ in range(2):
        report = kwhatif.outage(
            demo, each=HOSTNAME, jobs=1, resume=str(file), progress=lambda *step: steps.append(step)
        )
        assert report.to_json() == alone
    assert len(played) == 12 - 4
    assert steps == [*((number, 12) for number in range(4, 13)), (12, 12)]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"deleted": True}, "about another cluster, or another question"),
        ({"start": "9s"}, "about another cluster, or another question"),
    ],
)
def test_a_file_of_another_question(demo: Session, tmp_path: Path, other: Any, message: str) -> None:
    file = str(tmp_path / "sweep.jsonl")
    kwhatif.outage(demo, each="topology.kubernetes.io/zone", resume=file)
    with pytest.raises(InputError, match=message):
        kwhatif.outage(demo, each="topology.kubernetes.io/zone", resume=file, **other)


def test_another_process_goes_on(tmp_path: Path) -> None:
    ask = ["outage", "--each", HOSTNAME, "--resume", str(tmp_path / "sweep.jsonl"), "--from", str(DEMO)]
    answers = []
    for seed in "12":  # sets are in another order
        environment = os.environ | {"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": "1795245600"}
        done = subprocess.run(
            [sys.executable, "-m", "kwhatif", *ask], capture_output=True, text=True, check=False, env=environment
        )
        answers.append((done.returncode, done.stdout, done.stderr))
    assert answers[0][0] == 1, answers[0]
    assert answers[1] == answers[0]
    assert len((tmp_path / "sweep.jsonl").read_bytes().splitlines()) == 1 + 12


def test_a_file_of_another_cluster(demo: Session, tmp_path: Path) -> None:
    file = str(tmp_path / "sweep.jsonl")
    kwhatif.outage(demo, each="topology.kubernetes.io/zone", resume=file)
    with pytest.raises(InputError, match="about another cluster"):
        kwhatif.outage(kwhatif.edited(demo, "cordon general-a1"), each="topology.kubernetes.io/zone", resume=file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("apiVersion: v1\n", "is not a file that --resume has written"),
        ("{}\n", "is not a file"),
        (None, "Is a directory"),
    ],
)
def test_something_else_is_not_written_to(demo: Session, tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "file"
    if content is None:
        file.mkdir()
    else:
        file.write_text(content)
    with pytest.raises(InputError, match=message):
        kwhatif.outage(demo, each=HOSTNAME, resume=str(file))
    assert content is None or file.read_text() == content


@pytest.mark.parametrize("options", [{"jobs": 2}, {"dask": "tcp://x"}, {"resume": "x"}])
def test_without_scenarios_there_is_nobody_to_play_them(demo: Session, options: Any) -> None:
    with pytest.raises(InputError, match="give --each"):
        kwhatif.outage(demo, "general-a1", **options)


def test_one_of_processes_and_dask(demo: Session) -> None:
    with pytest.raises(InputError, match="one of the two"):
        kwhatif.outage(demo, each=HOSTNAME, jobs=2, dask="tcp://x")
