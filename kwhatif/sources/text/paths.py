"""Paths of fields, as Kubernetes writes them: `spec.containers[0].resources.requests.cpu`."""

from __future__ import annotations

import re

#: Names of fields, keys of maps, indexes of lists.
FieldPath = tuple[str | int, ...]

_PLAIN = re.compile(r"[\w-]+")


def to_text(path: FieldPath) -> str:
    """The path in words; a key that holds dots or slashes is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
