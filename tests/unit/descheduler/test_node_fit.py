"""NodeFit and anti-affinity: which of the pods that are on a node count."""

import pytest

from kwhatif.descheduler.node_fit import NodeFit, OtherNodes
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod_spec import Affinity, PodAffinity, PodAffinityTerm
from tests.builders import PodBuilder, node, pod, snapshot

HOST = "kubernetes.io/hostname"


def lonely(name: str = "web", namespace: str = "a", *namespaces: str, key: str = HOST) -> PodBuilder:
    """It wants no other pod of its app beside it; on n1."""
    selector = LabelSelector(match_labels={"app": "web"})
    term = PodAffinityTerm(label_selector=selector, topology_key=key, namespaces=namespaces)
    affinity = Affinity(pod_anti_affinity=PodAffinity(required=(term,)))
    return pod(name, namespace).labels(app="web").on("n1").spec(affinity=affinity)


def other(name: str, namespace: str = "a", app: str = "web") -> PodBuilder:
    return pod(name, namespace).labels(app=app).on("n2")


#: The pod, who is on n2, and whether it might go there.
CASES = {
    "nobody": (lonely(), [], True),
    "a pod that the term selects": (lonely(), [other("db")], False),
    "another app": (lonely(), [other("db", app="db")], True),
    "another namespace": (lonely(), [other("db", "b")], True),
    "a namespace that the term names": (lonely("web", "a", "b"), [other("db", "b")], False),
    "not its own any more then": (lonely("web", "a", "b"), [other("db", "a")], True),
    # Upstream compares names alone: a pod of that name in another namespace passes for the pod itself.
    "one of the same name elsewhere": (lonely("web", "a", "b"), [other("web", "b")], True),
    "beside another one": (lonely("web", "a", "b"), [other("web", "b"), other("db", "b")], False),
    "a label that the node lacks": (lonely(key="rack"), [other("db")], True),
}


@pytest.mark.parametrize(("candidate", "there", "fits"), CASES.values(), ids=CASES.keys())
def test_who_is_in_the_way(candidate: PodBuilder, there: list[PodBuilder], fits: bool) -> None:
    state = snapshot(node("n1").labels(**{HOST: "n1"}), node("n2").labels(**{HOST: "n2"}), candidate, *there)
    world, nodes = Sandbox(state, 0), list(state.cluster.all(Node).values())
    assert NodeFit(world).fits_another(candidate.build(), nodes) is fits
    assert OtherNodes(world, nodes).have_room(candidate.build()) is fits
