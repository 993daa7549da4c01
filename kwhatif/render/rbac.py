"""The smallest ClusterRole with which a live cluster can be read."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.sources.decoding.kinds import ASKED, Asked


def cluster_role(lists: Iterable[Asked] = ASKED, *, watch: bool = False) -> str:
    """The role as YAML: list, perhaps `watch`, what is read, and get the version, nothing else."""
    verbs = "list, watch" if watch else "list"
    groups: dict[str, dict[str, None]] = {}
    for asked in lists:
        groups.setdefault(asked.group, {})[asked.plural] = None
    lines = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata:",
        "  name: kwhatif",
        "rules:",
    ]
    for group, plurals in groups.items():
        lines += [f'- apiGroups: ["{group}"]', f"  resources: [{', '.join(plurals)}]", f"  verbs: [{verbs}]"]
    lines += ["- nonResourceURLs: [/version]", "  verbs: [get]"]
    return "\n".join(lines) + "\n"
