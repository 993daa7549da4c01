"""Exports of kwokctl: a YAML document per object, with every time relative to the moment of the export.

`pkg/kwokctl/recording/time.go`: a time stands there as `$(time-offset-nanosecond -7200000000000)`. When that moment
was, the export does not say; which of two times is the earlier one, it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.reading import NoDates, RecordedChanges

#: Kinds that are exported unless --filter says otherwise (`pkg/kwokctl/snapshot/runtime.go`), of those that are read.
EXPORTED = frozenset(
    {
        "DaemonSet",
        "Deployment",
        "Job",
        "LimitRange",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PriorityClass",
        "ReplicaSet",
        "RuntimeClass",
        "Service",
        "StatefulSet",
    }
)

_MARK = b"$(time-offset-nanosecond "
#: The first object has a time in its metadata.
_WITHIN = 1 << 20
_TIME = re.compile(rb"\$\(time-offset-nanosecond (-?\d{1,18})\)")
_CHANGE = re.compile(rb"^kind: ResourcePatch$", re.MULTILINE)
_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
_NANOSECONDS = 1_000_000_000


def is_export(text: bytes) -> bool:
    """Whether kwokctl has written this."""
    return text.find(_MARK, 0, _WITHIN) >= 0


def with_dates(text: bytes) -> bytes:
    """The text with every time as the API writes it."""
    return _TIME.sub(lambda match: _date(int(match[1])), text)


def _date(nanoseconds: int) -> bytes:
    # Whole seconds, rounded the same way: times of the API are, so that equal ones stay equal.
    moment = _MOMENT + timedelta(seconds=nanoseconds // _NANOSECONDS)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def caveats(text: bytes) -> Iterator[Caveat]:
    """Caveats about an export."""
    yield NoDates()
    changes = len(_CHANGE.findall(text))
    if changes:
        yield RecordedChanges(count=changes)
