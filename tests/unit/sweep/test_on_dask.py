"""On a Dask cluster, with real workers that are processes: the same report, though one of them is killed."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError, OutOfTime, WorkersLost
from kwhatif.questions.scenarios import NodePlayer, Outages, ScenarioOutcome, SweepScenario
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import together
from kwhatif.simulation.parameters import Parameters
from kwhatif.sweep.on_dask import play_on_dask
from kwhatif.sweep.processes import play_here
from tests.dumps import DEMO

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as made:
        yield made


@pytest.fixture(scope="module")
def demo() -> Session:
    return kwhatif.load(str(DEMO))


def scenarios(session: Session) -> list[SweepScenario]:
    return together(session, [SweepScenario(node.name, (node.name,)) for node in session.state.nodes])


def name(outcome: ScenarioOutcome) -> str:
    return outcome.row.scenario


class Mortal(NodePlayer):
    """Its worker is killed at a scenario: as long as it is that worker, or any."""

    def __init__(self, session: Session, victim: int | None) -> None:
        super().__init__(session, Parameters(), Outages())
        self._victim = victim

    def play(self, scenario: SweepScenario) -> ScenarioOutcome:
        if self._victim in (None, os.getpid()) and scenario.name >= "general":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().play(scenario)

    def __reduce__(self) -> tuple[Any, ...]:
        return Mortal, (self.session, self._victim)


def test_the_report_is_the_same(cluster: Any, demo: Session) -> None:
    alone = kwhatif.outage(demo, each=ZONE, jobs=1).to_json()
    assert kwhatif.outage(demo, each=ZONE, dask=cluster.scheduler_address).to_json() == alone


def test_an_audit_is_the_same(cluster: Any, demo: Session) -> None:
    only = "budgets,outage,drain,upgrade"
    alone = kwhatif.audit(demo, only=only, fixes=0, jobs=1).to_json()
    assert kwhatif.audit(demo, only=only, fixes=0, dask=cluster.scheduler_address).to_json() == alone


def test_what_a_lost_worker_was_at_others_do(cluster: Any, demo: Session) -> None:
    asked = scenarios(demo)
    pid = next(iter(cluster.workers.values())).pid
    found = list(play_on_dask(Mortal(demo, pid), asked, cluster.scheduler_address))
    plain = play_here(NodePlayer(demo, Parameters(), Outages()), asked)
    assert sorted(found, key=name) == sorted(plain, key=name)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_is_not_awaited_any_more_is_given_up(cluster: Any, demo: Session) -> None:
    player = NodePlayer(demo, Parameters(), Outages())
    player.is_awaited = lambda: False
    with pytest.raises(OutOfTime):
        list(play_on_dask(player, scenarios(demo), cluster.scheduler_address))


def test_workers_that_are_lost_again_and_again(cluster: Any, demo: Session) -> None:
    with pytest.raises(WorkersLost, match="lost 3 times"):
        list(play_on_dask(Mortal(demo, None), scenarios(demo), cluster.scheduler_address))


def test_nobody_answers(demo: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.sweep.on_dask._PATIENCE", "1s")
    with pytest.raises(InputError, match="no scheduler answers at tcp://127.0.0.1:9"):
        kwhatif.outage(demo, each=ZONE, dask="tcp://127.0.0.1:9")


def test_a_scheduler_without_workers(demo: Session) -> None:
    with (
        distributed.LocalCluster(n_workers=0, processes=True, host="127.0.0.1", dashboard_address=None) as empty,
        pytest.raises(InputError, match="has no workers"),
    ):
        kwhatif.outage(demo, each=ZONE, dask=empty.scheduler_address)
