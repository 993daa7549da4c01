"""Edits that kwhatif itself proposes: typed data, and the text that a user would write for them.

`kwhatif.edits.parse` reads the text as the same edit; a test holds both to that.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from kwhatif.edits.edit import (
    AddNodes,
    Assignment,
    Budget,
    DeleteObjects,
    EvictPods,
    Label,
    Patch,
    Recover,
    Reference,
    Restart,
    Scale,
    SetFields,
    TaintNodes,
    TaintRemoval,
    Uncordon,
)
from kwhatif.kube.matching.field_errors import quoted_path
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.kube.model.kinds import BY_KIND, RESOURCES
from kwhatif.kube.model.node import Node, Taint
from kwhatif.report.advise import PatchRow


def object_of(kind: type, key: str) -> Reference:
    """The object of that kind; `key` is `NAMESPACE/NAME`, or the name of an object without a namespace."""
    resource, (namespace, _, name) = RESOURCES[kind], key.rpartition("/")
    return Reference(f"{resource.kind.lower()}/{key}", resource, name, namespace or None)


def named(name: str) -> Reference:
    """The object that reports name so: `Deployment shop/web`."""
    kind, key = ObjectRef.parse(name)
    return object_of(BY_KIND[kind].type, key)


# --- nodes -----------------------------------------------------------------------------------------------------------


def uncordon(nodes: Sequence[str]) -> Uncordon:
    """Uncordon these nodes."""
    return Uncordon(text=f"uncordon {' '.join(nodes)}", nodes=tuple(nodes))


def taint(nodes: Sequence[str], added: Taint) -> TaintNodes:
    """Add a taint to these nodes."""
    text = f"taint {' '.join(nodes)} {added.key}={added.value}:{added.effect}"
    return TaintNodes(text=text, nodes=tuple(nodes), added=(added,))


def untaint(node: str, key: str, effect: str) -> TaintNodes:
    """Remove a taint, whatever its value."""
    removed = TaintRemoval(key, None, effect)
    return TaintNodes(text=f"taint {node} {key}:{effect}-", nodes=(node,), removed=(removed,))


def label_node(node: str, labels: Mapping[str, str]) -> Label:
    """Add labels to a node."""
    named, pairs = object_of(Node, node), " ".join(f"{key}={value}" for key, value in labels.items())
    return Label(text=f"label {named.text} {pairs}", objects=(named,), added=labels)


def add_nodes(like: str, count: int) -> AddNodes:
    """Add nodes like an existing one."""
    return AddNodes(text=f"add {count} node{'s' * (count != 1)} like {like}", count=count, like=like)


def recover(nodes: Sequence[str]) -> Recover:
    """Failed nodes return."""
    return Recover(text=f"recover {' '.join(nodes)}", nodes=tuple(nodes))


# --- workloads and other objects -------------------------------------------------------------------------------------


def restart(workload: Reference) -> Restart:
    """Restart a workload."""
    return Restart(text=f"restart {workload.text}", workloads=(workload,))


def scale(workload: Reference, replicas: int) -> Scale:
    """Scale a workload to this number of pods."""
    return Scale(text=f"scale {workload.text}={replicas}", targets=((workload, replicas),))


def evict(pods: Sequence[Reference]) -> EvictPods:
    """Evict pods."""
    return EvictPods(text=f"evict {_names(pods)}", pods=tuple(pods))


def delete(objects: Sequence[Reference], *, ignore_not_found: bool = False) -> DeleteObjects:
    """Delete objects."""
    return DeleteObjects(text=f"delete {_names(objects)}", objects=tuple(objects), ignore_not_found=ignore_not_found)


def _names(objects: Sequence[Reference]) -> str:
    return " ".join(each.text for each in objects)


def budget(key: str, *, min_available: int | None = None, max_unavailable: int | None = None) -> Budget:
    """Give a PodDisruptionBudget one bound, and no other."""
    namespace, _, name = key.rpartition("/")
    bound = f"maxUnavailable={max_unavailable}" if min_available is None else f"minAvailable={min_available}"
    return Budget(
        text=f"budget {key} {bound}",
        name=name,
        namespace=namespace,
        min_available=min_available,
        max_unavailable=max_unavailable,
    )


# --- fields ----------------------------------------------------------------------------------------------------------

Steps = tuple[str | int, ...]
#: Lists whose entries are changed field by field.
_AS_PARTS = ("containers", "initContainers")


def patch(target: Reference, merge: Mapping[str, Any]) -> Patch:
    """Change an object with a JSON merge patch."""
    return Patch(text=f"patch {target.text} {shlex.quote(_shown(merge))}", object=target, merge=merge)


def set_fields(target: Reference, *values: Assignment) -> SetFields:
    """Set fields of an object."""
    words = shlex.join(f"{quoted_path(each.path)}={_shown(each.value)}" for each in values)
    return SetFields(text=f"set {target.text} {words}", object=target, values=values)


def set_as_patched(target: Reference, obj: Any, patched: Sequence[PatchRow]) -> SetFields:
    """Set what the JSON patch would change of the object; a list is set as a whole."""
    data = msgspec.json.decode(msgspec.json.encode(obj))
    values: dict[Steps, Any] = {}
    for row in patched:
        steps = _pointer(row.path)
        place = next(
            (at for at, step in enumerate(steps) if isinstance(step, int) and steps[at - 1] not in _AS_PARTS), None
        )
        if place is None:
            values[steps] = None if row.op == "remove" else row.value
        else:  # an entry by itself is not valid
            values[steps[:place]] = _changed_list(data, steps, place, row)
    return set_fields(target, *(Assignment(steps, value) for steps, value in values.items()))


def _pointer(path: str) -> Steps:
    """The steps of a JSON pointer."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in path.removeprefix("/").split("/"))
    return tuple(int(step) if step.isdigit() else step for step in steps)


def _changed_list(data: Any, steps: Steps, place: int, row: PatchRow) -> Any:
    """The list at that place of the path, with the change."""
    found = data
    for step in steps[:place]:
        found = found[step]
    made = deepcopy(found)
    here: Any = made
    for step in steps[place:-1]:
        here = here.setdefault(step, {}) if isinstance(here, dict) else here[step]
    last: Any = steps[-1]
    if row.op == "remove":
        del here[last]
    elif isinstance(here, list) and row.op == "add":
        here.insert(last, row.value)
    else:
        here[last] = row.value
    return made


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
