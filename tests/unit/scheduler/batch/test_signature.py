"""Which pods are of one signature, and which have none."""

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod import ContainerStatus, PodResourceClaim
from kwhatif.kube.model.storage import ClaimVolumeSource
from kwhatif.scheduler.batch.signature import Signer
from kwhatif.scheduler.catalog import default_profile
from tests.builders import HOSTNAME, PodBuilder, affinity_term, node, pod, selector, service, snapshot
from tests.storage import EPHEMERAL, claim

SEEN = affinity_term(HOSTNAME, selector(seen="yes"))


def with_claim(name: str) -> PodBuilder:
    return pod("a").volume("data", persistent_volume_claim=ClaimVolumeSource(claim_name=name))


#: Two pods -> whether they are of one signature, in a cluster with a service that selects pods by `app`.
PAIRS: dict[str, tuple[PodBuilder, PodBuilder, bool]] = {
    "replicas": (pod("a").cpu("1"), pod("b").cpu("1"), True),
    "another request": (pod("a").cpu("1"), pod("b").cpu("2"), False),
    "another namespace": (pod("a"), pod("a", "other"), False),
    "another priority": (pod("a"), pod("b").priority(1), False),
    "a label that nobody reads": (pod("a").labels(number="1"), pod("b").labels(number="2"), True),
    "a label that a service reads": (pod("a").labels(app="x"), pod("b").labels(app="y"), False),
    "a label that its own affinity reads": (
        pod("a").pod_affinity(SEEN).labels(seen="yes"),
        pod("b").pod_affinity(SEEN).labels(seen="no"),
        False,
    ),
    "a label that its own constraint reads": (
        pod("a").spread(HOSTNAME, selector(mine="yes")).labels(mine="yes"),
        pod("b").spread(HOSTNAME, selector(mine="yes")),
        False,
    ),
    "a label that pods in the cluster read": (pod("a").labels(role="x"), pod("b").labels(role="y"), False),
    "host names of a StatefulSet": (pod("a").spec(hostname="a"), pod("b").spec(hostname="b"), True),
    "claims that are alike": (with_claim("one"), with_claim("two"), True),
    "claims of different classes": (with_claim("one"), with_claim("slow"), False),
    "nominated nodes": (pod("a").nominated("n1"), pod("b").nominated("n2"), True),
}
CLUSTER: tuple[KubernetesObject | PodBuilder, ...] = (
    node("n1").build(),
    service("web", {"app": "web"}),
    pod("reader").on("n1").pod_anti_affinity(affinity_term(HOSTNAME, selector(role="x"))),
    *(claim(name, "fast", bound=False) for name in ("one", "two")),
    claim("slow", "slow", bound=False),
)


@pytest.mark.parametrize(("one", "other", "alike"), PAIRS.values(), ids=PAIRS)
def test_pairs(one: PodBuilder, other: PodBuilder, alike: bool) -> None:
    state, signer = snapshot(*CLUSTER), Signer(default_profile())
    first, second = (signer.sign(each.info(), state) for each in (one, other))
    assert first is not None
    assert second is not None
    assert (first.key == second.key) is alike


@pytest.mark.parametrize(
    "own",
    [
        pod("a").terminating(),
        pod("a").spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gpu"),)),
        pod("a").status(container_statuses=(ContainerStatus(name="main"),)),
        pod("a").volume("scratch", **EPHEMERAL),
    ],
    ids=["on its way out", "with devices", "that has run", "with a claim of its own"],
)
def test_a_pod_that_is_like_no_other(own: PodBuilder) -> None:
    assert Signer(default_profile()).sign(own.info(), snapshot(*CLUSTER)) is None
