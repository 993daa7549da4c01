"""kwhatif: what would kube-scheduler do if I applied this?

```python
import kwhatif

cluster = kwhatif.load("cluster.yaml")
report = kwhatif.schedule(cluster, "pod.yaml")
for decision in report.decisions:
    print(decision.pod, decision.outcome, decision.node)
```

The public names are the lines of `__init__.pyi`. Each is imported when it is first used, so that `kwhatif --help` does
not pay for them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from kwhatif._version import __version__ as __version__


@cache
def _homes() -> dict[str, str]:
    """The public names, and the modules where they live."""
    stub = __spec__.loader.get_data(f"{__file__}i").decode()
    lines = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in lines}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name.startswith("__") or name not in _homes():
        raise AttributeError(f"module 'kwhatif' has no attribute {name!r}")
    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted(_homes())
