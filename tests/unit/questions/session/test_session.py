"""Sessions: independent of each other, the same in another process, with the nominated pods that the queue has."""

import pickle
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.errors import PluginFailed
from kwhatif.kube.model.pod import PodResourceClaim
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.framework.status import SKIP
from tests.asking import each_alone
from tests.builders import PodBuilder, budget, cluster, node, pod, selector
from tests.placing import Placing


class Raises:
    """A plugin of somebody's own that cannot cope with one pod."""

    name = "Raises"

    def pre_filter(self, asking: Any, _: object) -> Any:
        if asking.labels.get("odd"):
            raise ZeroDivisionError("odd")
        return SKIP


def on_nodes(session: Session) -> dict[str, list[str]]:
    return {info.name: [each.name for each in info.pods] for info in session.state.nodes}


@pytest.mark.parametrize("there", [pod("web").on("n1"), pod("web")], ids=["runs", "is pending"])
def test_a_plugin_that_raises_leaves_the_session_as_it_was(there: PodBuilder) -> None:
    """The pod in question replaces its namesake, but only for the answer, however that ends."""
    guarded: Any = GuardedPlugin(Raises())
    profiles = {DEFAULT_SCHEDULER: Profile(pre_filter=(guarded,), filter=(guarded,))}
    session = Session.of(cluster(node("n1"), there, pod("other").on("n1")), profiles=profiles)
    before, pods = on_nodes(session), dict(session.state.pods)
    with pytest.raises(PluginFailed):
        each_alone(session, [pod("web").labels(odd="yes").build()])
    assert (on_nodes(session), dict(session.state.pods)) == (before, pods)
    assert each_alone(session, [pod("web").build()]).decisions[0].node == "n1"


def test_a_pod_is_judged_without_its_namesake() -> None:
    session = Session.of(cluster(node("n1").allocatable(cpu="2"), pod("web").cpu("2").on("n1")))
    assert each_alone(session, [pod("web").cpu("1").build()]).decisions[0].outcome == "Placed"
    assert on_nodes(session) == {"n1": ["web"]}


def test_a_session_gives_the_same_answers_in_another_process() -> None:
    """Profiles are made again of their plugins' arguments; what was found out stays behind."""
    guarded: Any = GuardedPlugin(Raises())
    profile = default_profile()
    with_own = replace(profile, pre_filter=(*profile.pre_filter, guarded), filter=(*profile.filter, guarded))
    running = pod("a").labels(app="db").cpu("3").on("n1")
    objects = node("n1"), node("n2").cordoned(), running, budget("db", 0, selector(app="db"))
    session = Session.of(cluster(*objects), profiles={DEFAULT_SCHEDULER: with_own})
    asking = [pod("small").cpu("1").build(), pod("large").cpu("3").priority(9).build()]
    before = each_alone(session, asking)
    there: Session = pickle.loads(pickle.dumps(session))
    assert there.cluster is there.state.cluster
    assert each_alone(there, asking) == before
    assert pickle.loads(pickle.dumps(before)) == before


def test_what_preemption_found_out_can_be_pickled() -> None:
    session = Session.of(cluster(node("n1"), pod("a").cpu("3").on("n1")))
    asking = pod("large").cpu("3").priority(9).info()
    placement = Placing(session.profiles, session.state.fork()).place(asking)
    there = pickle.loads(pickle.dumps(placement))
    assert there.ties == placement.ties == ("n1",)
    assert [each.pod.key for each in there.candidate.reprieves] == ["default/a"]


# --- Nominated pods count only where the scheduler's queue has them -----------------------------------


CASES = {
    "a waiting pod counts": (pod("promised"), True),
    "a pod of this scheduler by name counts": (pod("promised").spec(scheduler_name=DEFAULT_SCHEDULER), True),
    "a gated pod does not": (pod("promised").gates("example.com/wait"), False),
    "a pod of a scheduler that has no profile does not": (pod("promised").spec(scheduler_name="other"), False),
    "a pod whose claim is missing does not": (
        pod("promised").spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gone"),)),
        False,
    ),
}


@pytest.mark.parametrize(("promised", "counts"), CASES.values(), ids=CASES)
def test_a_nomination_is_known_when_the_pod_enters_the_queue(promised: PodBuilder, counts: bool) -> None:
    session = Session.of(cluster(node("n1"), promised.nominated("n1")))
    assert [info.name for info in session.state.nominated.get("n1", ())] == (["promised"] if counts else [])
