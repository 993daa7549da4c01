"""Reading what an autoscaler knows besides the cluster: node groups, instance types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.flags import NAMES, build_flags, unmodelled
from kwhatif.autoscaler.cluster_autoscaler.groups import EXPANDERS, NO_MAXIMUM, NodeGroup, NodeGroups
from kwhatif.autoscaler.karpenter.instance_types import InstanceType, build_instance_types
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import hinted, quoted_path
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector, parse_selector
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.node import Node
from kwhatif.sources.decoding.config_file import read_config, read_data
from kwhatif.sources.decoding.lenient import reader
from kwhatif.sources.decoding.objects import STORED
from kwhatif.sources.text.problems import FieldPath

_TOP = ("groups", "expander", "flags")
_OF_GROUP = ("name", "min", "max", "target", "nodes", "template", "price", "priority")
_MOST_NODES = 2**31 - 1


def read_node_groups(path: str, cluster: Cluster, *, stdin: BinaryIO) -> NodeGroups:
    """Read a file of node groups, or "-", for a cluster whose nodes it names.

    Raises:
        InputError: the file cannot be read, or with everything that is wrong with it.
    """
    file = read_config(path, stdin=stdin, kind="file of node groups")
    try:
        return _Reading(cluster).settings(file.data)
    except InputError as failure:
        raise file.located(failure) from None


def read_instance_types(path: str, *, stdin: BinaryIO) -> tuple[InstanceType, ...]:
    """Read a file of instance types, or "-".

    Raises:
        InputError: the file cannot be read, or with everything that is wrong with it.
    """
    file = read_data(path, stdin=stdin, kind="list of instance types")
    try:
        data = file.data
        if isinstance(data, Mapping) and data.get("kind") == "List":  # how a list of Python objects comes here
            data = data.get("items")
        return build_instance_types(data)
    except InputError as failure:
        raise file.located(failure) from None


class _Reading:
    """One file; what is wrong is gathered, and raised at the end."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.all(Node)
        self._problems: list[Problem] = []
        self._group_of: dict[str, str] = {}

    def _add(self, field: str, message: str, hint: str = "") -> None:
        self._problems.append(Problem("", message, field, hint))

    def settings(self, data: Mapping[str, Any]) -> NodeGroups:
        """Everything that the file says.

        Raises:
            InputError: with everything that is wrong; each problem has its field, and no place.
        """
        self._known(data, _TOP, "")
        flags = self._mapping(data.get("flags"), "flags")
        self._known(flags, NAMES, "flags.")
        groups = list(self._groups(data.get("groups")))
        expander = self._expander(data.get("expander", flags.get("expander")))
        found = NodeGroups(
            groups=sorted(groups, key=lambda group: group.name),
            expander=expander,
            flags=build_flags(flags, lambda name, wrong: self._add(f"flags.{name}", wrong)),
            unmodelled=tuple(unmodelled(flags)),
        )
        if self._problems:
            raise InputError(self._problems)
        return found

    def _known(self, data: Mapping[str, Any], names: Sequence[str] | frozenset[str], prefix: str) -> None:
        for name in data:
            if name not in names:
                what = "flag of the Cluster Autoscaler" if prefix == "flags." else "field"
                self._add(f"{prefix}{name}", hinted(f"is not a {what}", name, names))

    def _mapping(self, data: object, field: str) -> Mapping[str, Any]:
        if isinstance(data, Mapping):
            return data
        if data is not None:
            self._add(field, "expected an object")
        return {}

    # --- groups -------------------------------------------------------------------------------------------------------

    def _groups(self, data: object) -> Iterator[NodeGroup]:
        if not isinstance(data, list) or not data:
            self._add("groups", "expected a list of node groups, at least one")
            return
        seen: dict[str, int] = {}
        for place, each in enumerate(data):
            field = f"groups[{place}]"
            if not isinstance(each, Mapping):
                self._add(field, "expected an object")
                continue
            self._known(each, _OF_GROUP, f"{field}.")
            group = self._group(each, field)
            if group.name in seen and group.name:
                self._add(f"{field}.name", f"there is a group {group.name} already: groups[{seen[group.name]}]")
            seen.setdefault(group.name, place)
            yield group

    def _group(self, data: Mapping[str, Any], field: str) -> NodeGroup:
        name = data.get("name")
        if not isinstance(name, str) or not name:
            self._add(f"{field}.name", "expected the name of the group")
            name = ""
        least, most = self._count(data, field, "min", 0), self._count(data, field, "max", NO_MAXIMUM)
        if least > most:
            self._add(f"{field}.min", f"the minimum, {least}, is above the maximum, {most}")
        has_template = data.get("template") is not None
        nodes = tuple(self._members(data.get("nodes"), name or field, f"{field}.nodes", has_template=has_template))
        template = self._template(data["template"], f"{field}.template") if has_template else None
        if not data.get("nodes") and not has_template:
            self._add(field, "has neither nodes nor a template", "name a node of it, or say template: {like: NODE}")
        return NodeGroup(
            name=name,
            minimum=least,
            maximum=most,
            target=self._count(data, field, "target", 0) if data.get("target") is not None else None,
            nodes=nodes,
            template=template,
            price=self._price(data.get("price"), f"{field}.price"),
            priority=self._priority(data.get("priority"), f"{field}.priority"),
            has_bounds=data.get("max") is not None,
        )

    def _count(self, data: Mapping[str, Any], field: str, name: str, default: int) -> int:
        number = data.get(name)
        if number is None:
            return default
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST_NODES:
            return number
        self._add(f"{field}.{name}", "expected a number of nodes")
        return default

    def _price(self, price: object, field: str) -> float | None:
        if price is None or (isinstance(price, (int, float)) and not isinstance(price, bool) and 0 <= price < 2**53):
            return None if price is None else float(price)
        self._add(field, "expected what a node costs in an hour, a number")
        return None

    def _priority(self, priority: object, field: str) -> int | None:
        if priority is None or (isinstance(priority, int) and not isinstance(priority, bool)):
            return priority
        self._add(field, "expected a whole number")
        return None

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _members(self, data: object, group: str, field: str, *, has_template: bool) -> Iterator[str]:
        """The nodes that belong to the group; each belongs to one at most."""
        if isinstance(data, list):
            named = [(name, f"{field}[{place}]") for place, name in enumerate(data)]
        else:
            selector = self._selector(data, field)
            found = () if selector is None else self._nodes.items()
            named = [(name, field) for name, node in found if selector and selector.matches(node.metadata.labels)]
            if selector is not None and not named and not has_template:
                self._add(field, "no node has such labels")
        for name, where in named:
            if not isinstance(name, str) or name not in self._nodes:
                self._add(where, f"there is no node {name}" if isinstance(name, str) else "expected the name of a node")
            elif name in self._group_of:
                self._add(where, f"node {name} belongs to group {self._group_of[name]} already")
            else:
                self._group_of[name] = group
                yield name

    def _selector(self, data: object, field: str) -> Selector | None:
        """A selector as text (`pool=a`) or as an object (`matchLabels`); None: there is none, or it is wrong."""
        if data is None:
            return None
        try:
            if isinstance(data, str):
                return parse_selector(data)
            if isinstance(data, Mapping):
                before = len(self._problems)
                cleaned = reader(LabelSelector)(data, (), self._adder(field))
                found = None if len(self._problems) > before else msgspec.convert(cleaned, LabelSelector)
                return None if found is None else compile_selector(found)
        except SelectorError as wrong:
            self._add(field, str(wrong))
            return None
        self._add(field, "expected a list of names, or a label selector")
        return None

    def _adder(self, field: str) -> Callable[..., None]:
        """Adds problems with paths from the field on."""

        def add(message: str, path: FieldPath = (), hint: str = "") -> None:
            self._add(".".join(filter(None, (field, quoted_path(path)))).replace(".[", "["), message, hint)

        return add

    def _template(self, data: object, field: str) -> Node | None:
        template = self._mapping(data, field)
        if not isinstance(data, Mapping):
            return None
        self._known(template, ("like", "node"), f"{field}.")
        if len(template) != 1:
            self._add(field, "expected either like, a node that there is, or node, a Node")
            return None
        like = template.get("like")
        if "like" not in template:
            return self._node(template.get("node"), f"{field}.node")
        if isinstance(like, str) and like in self._nodes:
            return self._nodes[like]
        self._add(f"{field}.like", f"there is no node {like}" if isinstance(like, str) else "expected a node's name")
        return None

    def _node(self, data: object, field: str) -> Node | None:
        before, add = len(self._problems), self._adder(field)
        cleaned = reader(Node)(data, (), add)
        if len(self._problems) > before or not isinstance(cleaned, Mapping):
            return None
        node: Node = msgspec.convert({**cleaned, "kind": "Node"}, Node)
        STORED.validate(node, add)
        if not (node.status.capacity or node.status.allocatable):
            add("has no room: say its capacity, and what of it is allocatable", ("status", "capacity"))
        return node

    # --- the expander -------------------------------------------------------------------------------------------------

    def _expander(self, data: object) -> tuple[str, ...] | None:
        """The chain; None: not given."""
        if data is None:
            return None
        names = data.split(",") if isinstance(data, str) else data
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            self._add("expander", f"expected one of {', '.join(EXPANDERS)}, or several of them")
            return None
        names = [name.strip() for name in names]
        for place, name in enumerate(names):
            if name not in EXPANDERS:
                self._add("expander", hinted(f"{name!r} is not one of {', '.join(EXPANDERS)}", name, EXPANDERS))
            elif name in names[:place]:
                self._add("expander", f"{name} is there twice")
            elif "random" in names[:place]:
                self._add("expander", f"{name} is never asked: random leaves one group")
        return tuple(names)
