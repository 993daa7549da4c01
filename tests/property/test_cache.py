"""A cache after any events equals one that is built of its objects, and snapshots never change by themselves."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.cache.cache import Cache
from kwhatif.scheduler.cache.snapshot import Snapshot
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.node_tree import zone_of
from kwhatif.state.state import State
from tests.builders import HOSTNAME, affinity_term, node, pod, selector
from tests.examples import examples

ALONE = affinity_term(HOSTNAME, selector(app="db"))
names = st.sampled_from(("n1", "n2", "n3"))


def builds_node(name: str, zone: str, image: str) -> Node:
    built = node(name).zone(zone)
    return (built.image(7, image) if image else built).build()


nodes = st.builds(builds_node, names, st.sampled_from("ab"), st.sampled_from(["", "app:1", "app:2"]))
looks = st.sampled_from(["", "anti", "claim", "both"])


def builds_pod(number: int, where: str, cpu: str, look: str) -> Pod:
    built = pod(f"p{number}").meta(uid=f"u{number}").on(where).cpu(cpu)
    if look in ("anti", "both"):
        built.pod_anti_affinity(ALONE)
    if look in ("claim", "both"):
        built.claim("data")
    return built.build()


def facts(info: NodeInfo) -> object:
    """What does not depend on the order in which pods came."""
    pods = [
        sorted(one.uid for one in some) for some in (info.pods, info.with_affinity, info.with_required_anti_affinity)
    ]
    return info.node, pods, info.cpu, info.memory, info.nonzero_cpu, info.nonzero_memory, info.images


def zone(info: NodeInfo) -> tuple[str, str]:
    return zone_of(info.node)


def content(taken: Snapshot) -> object:
    lists = (taken.nodes, taken.with_affinity, taken.with_required_anti_affinity)
    return [facts(info) for info in taken.nodes], [{one.name for one in some} for some in lists], set(taken.used_claims)


class Caches(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache, self.taken, self.lazy = Cache(), Snapshot(), Snapshot()
        self.lazy_content = content(self.lazy)
        #: In the order in which they came, or came into their zone.
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.assumed: set[str] = set()
        self.number = 0

    @rule(one=nodes)
    def put_node(self, one: Node) -> None:
        before = self.nodes.get(one.metadata.name)
        if before is None:
            self.cache.add_node(one)
        else:
            self.cache.update_node(before, one)
            if zone_of(before) != zone_of(one):
                del self.nodes[one.metadata.name]
        self.nodes[one.metadata.name] = one

    @rule(name=names)
    def remove_node(self, name: str) -> None:
        if name in self.nodes:
            assert self.cache.remove_node(self.nodes.pop(name)) is None

    @rule(where=names, cpu=st.sampled_from(["1", "2"]), look=looks, assume=st.booleans())
    def add_pod(self, where: str, cpu: str, look: str, assume: bool) -> None:
        self.number += 1
        one = builds_pod(self.number, where, cpu, look)
        self.pods[one.metadata.uid] = one
        if assume:
            self.assumed.add(one.metadata.uid)
        assert (self.cache.assume_pod if assume else self.cache.add_pod)(one) is None

    @precondition(lambda self: self.assumed)
    @rule(data=st.data(), where=names, look=looks)
    def confirm(self, data: st.DataObject, where: str, look: str) -> None:
        uid = data.draw(st.sampled_from(sorted(self.assumed)))
        self.assumed.remove(uid)
        self.pods[uid] = builds_pod(int(uid[1:]), where, "1", look)
        assert self.cache.add_pod(self.pods[uid]) is None

    @precondition(lambda self: self.assumed)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.assumed)))
        self.assumed.remove(uid)
        assert self.cache.forget_pod(self.pods.pop(uid)) is None

    @precondition(lambda self: self.pods.keys() - self.assumed)
    @rule(data=st.data(), gone=st.booleans(), look=looks)
    def change_pod(self, data: st.DataObject, gone: bool, look: str) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods.keys() - self.assumed)))
        before = self.pods.pop(uid)
        if gone:
            assert self.cache.remove_pod(before) is None
            return
        self.pods[uid] = builds_pod(int(uid[1:]), before.spec.node_name, "3", look)
        assert self.cache.update_pod(before, self.pods[uid]) is None

    @rule()
    def update_the_lazy_one(self) -> None:
        assert self.cache.update_snapshot(self.lazy) is None
        self.lazy_content = content(self.lazy)
        self.equals_rebuilt(self.lazy, in_order=False)

    @invariant()
    def follows(self) -> None:
        assert self.cache.update_snapshot(self.taken) is None
        self.equals_rebuilt(self.taken, in_order=False)
        fresh = Snapshot()
        assert self.cache.update_snapshot(fresh) is None
        self.equals_rebuilt(fresh, in_order=True)
        assert self.cache.assumed == self.assumed
        assert self.cache.pods.keys() == self.pods.keys()

    @invariant()
    def a_snapshot_stays_as_it_is(self) -> None:
        assert content(self.lazy) == self.lazy_content

    def equals_rebuilt(self, taken: Snapshot, *, in_order: bool) -> None:
        state = State(Cluster([*self.nodes.values(), *self.pods.values()]))
        wanted, found = state.nodes, list(taken.nodes)
        if in_order:
            # Which zone is first depends on nodes that may be gone.
            assert [info.name for info in sorted(found, key=zone)] == [info.name for info in sorted(wanted, key=zone)]
            numbers = {name: there.num_nodes for images in taken.images.values() for name, there in images.items()}
            assert numbers == {name: there.num_nodes for name, there in state.images.items()}
        by_name = {info.name: info for info in found}
        assert {name: facts(info) for name, info in by_name.items()} == {info.name: facts(info) for info in wanted}
        assert {info.name for info in taken.with_affinity} == {info.name for info in wanted if info.with_affinity}
        assert taken.used_claims == ({"default/data"} if state.users_of("default/data") else set())


Caches.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=25)
TestCaches = Caches.TestCase
