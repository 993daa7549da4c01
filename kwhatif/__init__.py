"""kwhatif: what would kube-scheduler do if I applied this?

`load`, `load_live`, `schedule`, `preempt` and `gate` are the library; see `kwhatif.api`. Names are imported when first
used, so that `kwhatif --help` does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kwhatif._version import __version__

if TYPE_CHECKING:
    from kwhatif.api import gate, load, load_live, preempt, schedule
    from kwhatif.errors import ClusterUnreadable, InputError, KwhatifError
    from kwhatif.sharing import describe, save_snapshot

__all__ = [
    "ClusterUnreadable",
    "InputError",
    "KwhatifError",
    "__version__",
    "describe",
    "gate",
    "load",
    "load_live",
    "preempt",
    "save_snapshot",
    "schedule",
]

_HOMES = {
    **dict.fromkeys(("ClusterUnreadable", "InputError", "KwhatifError"), "kwhatif.errors"),
    **dict.fromkeys(("describe", "save_snapshot"), "kwhatif.sharing"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'kwhatif' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "kwhatif.api")), name)
