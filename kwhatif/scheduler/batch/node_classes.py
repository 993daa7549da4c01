"""`NodeClasses`: the class of each node, by filters that read more than a node."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from kwhatif.kube.model.overlay import Overlay
from kwhatif.scheduler.batch.feasible_nodes import node_of
from kwhatif.scheduler.batch.node_class import ClassVerdicts, NodeClass
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.incremental import class_state, node_class
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.preemption.candidate import Candidate
from kwhatif.state.node_info import NodeInfo


class NodeClasses:
    """The classes of the nodes that have a verdict, and the results for each class."""

    def __init__(self, cycle: Cycle, candidates: Mapping[str, Candidate], rejected: Mapping[str, Verdict]) -> None:
        """Start with the results for the first pod: its cycle's verdicts, and its preemption candidates."""
        self._cycle = cycle
        self._classes: dict[Hashable, NodeClass] = {}
        #: Name of a node -> the key of its class.
        self._key_of: Overlay[str, Hashable] = Overlay()
        self._begin(candidates, rejected)

    def fork(self, cycle: Cycle) -> NodeClasses:
        """An independent copy, with the filters of a fork of the state."""
        other = NodeClasses.__new__(NodeClasses)
        other._cycle = cycle
        other._classes = {key: each.copy() for key, each in self._classes.items()}
        other._key_of = self._key_of.fork()
        return other

    def __iter__(self) -> Iterator[NodeClass]:
        return iter(self._classes.values())

    def __contains__(self, name: object) -> bool:
        return name in self._key_of

    def __len__(self) -> int:
        """The number of nodes in all classes."""
        return len(self._key_of)

    def of(self, name: str) -> NodeClass:
        """The class of the node."""
        return self._classes[self._key_of[name]]

    def refresh(self) -> None:
        """Update the state of the filters for each class, after pods were added or removed."""
        shared = self._shared
        for each in list(self._classes.values()):
            if each.names:
                each.set_state(self._state(each, shared))
            else:
                del self._classes[each.key]

    @property
    def _shared(self) -> list[NodeFilter]:
        return [plugin for _, plugin in self._cycle.filters if plugin.reads is Reads.CLUSTER]

    def _begin(self, candidates: Mapping[str, Candidate], rejected: Mapping[str, Verdict]) -> None:
        verdicts, shared = self._cycle.verdicts, self._shared
        members: dict[Hashable, dict[str, Verdict]] = {}
        if not shared and verdicts:
            members[()] = verdicts
        elif shared:
            by_name = self._cycle.state.by_name
            for name, verdict in verdicts.items():
                members.setdefault(self._key(by_name[name], shared), {})[name] = verdict
        for key, said in members.items():
            each = self._classes[key] = NodeClass(key, said)
            begun = ClassVerdicts(())
            begun.begin(said, candidates, rejected)
            each.begin(self._state(each, shared), begun)
            self._key_of.update(dict.fromkeys(said, key))

    def assign(self, node: NodeInfo) -> None:
        """Put the node into its class, and drop results for it in another class."""
        key = self._key(node, self._shared)
        before = self._key_of[node.name]
        if before == key:
            return
        self._classes[before].remove(node.name)
        after = self._classes.get(key)
        if after is None:
            after = self._classes[key] = NodeClass(key)
        after.add(node.name)
        self._key_of.put(node.name, key)

    def _key(self, node: NodeInfo, shared: Sequence[NodeFilter]) -> Hashable:
        if not shared:
            return ()
        return tuple([node_class(plugin, node) for plugin in shared]), node.name if self._is_crowded(node) else ""

    def _state(self, each: NodeClass, shared: Sequence[NodeFilter]) -> Hashable:
        """The state of the filters that read more than a node, for the class; always new for a crowded node."""
        if not shared:
            return ()
        node = node_of(self._cycle.state, next(iter(each.names)))
        return object() if self._is_crowded(node) else tuple([class_state(plugin, node) for plugin in shared])

    def _is_crowded(self, node: NodeInfo) -> bool:
        """Whether filters that read more than a node must also run with nominated pods on it."""
        cycle = self._cycle
        return bool(cycle.state.nominated and cycle.nominated_on(node))
