"""`resolve`: computes the changes of an edit in a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kwhatif.edits import deletion, nodes, objects, policies, scaling
from kwhatif.edits import edit as edits
from kwhatif.edits.edit import Edit, Resolved, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.state.state import State


class NotResolved(Exception):
    """An edit cannot be made; has all problems of it."""

    def __init__(self, mistakes: Sequence[Wrong]) -> None:
        super().__init__("; ".join(wrong.message for wrong in mistakes))
        self.mistakes = tuple(mistakes)


def resolve(edit: Edit, state: State, *, namespace: str = "default") -> Resolved:
    """The effects of the edit in this state, which does not change; `namespace` is the default for names.

    Raises:
        NotResolved: it names something that does not exist, is rejected by the API server, or needs a simulation.
    """
    lookup = Lookup(state.cluster, namespace)
    rule = _RULES.get(type(edit))
    if rule is None:
        verb = edit.text.split(maxsplit=1)[0]
        raise NotResolved([Wrong(f"{verb} needs time", "use `kwhatif simulate --then`")])
    resolved: Resolved | None = None
    try:
        resolved = rule(edit, lookup)
    except Wrong as wrong:
        lookup.mistakes.append(wrong)
    if lookup.mistakes or resolved is None:
        raise NotResolved(lookup.mistakes)
    return resolved


_RULES: Mapping[type[Any], Callable[[Any, Lookup], Resolved]] = {
    edits.AddNodes: nodes.add,
    edits.Apply: objects.apply,
    edits.Budget: policies.budget,
    edits.Cordon: nodes.cordon,
    edits.DeleteObjects: deletion.delete,
    edits.Label: objects.label,
    edits.Patch: objects.patch,
    edits.Priority: policies.priority,
    edits.Restart: objects.restart,
    edits.Resize: objects.resize,
    edits.Scale: scaling.scale,
    edits.ScaleBy: scaling.scale_by,
    edits.ScaleToMax: scaling.scale_to_max,
    edits.SetFields: objects.set_fields,
    edits.TaintNodes: nodes.taint,
    edits.Uncordon: nodes.uncordon,
}
