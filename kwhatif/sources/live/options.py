"""Which cluster to read, and as whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self, TypedDict, Unpack

import msgspec

from kwhatif.sources.network import parse_timeout


class LiveArguments(TypedDict, total=False):
    """`LiveOptions` as users say them; see `kwhatif.load_live`."""

    kubeconfig: str | Path | None
    context: str | None
    as_user: str | None
    as_groups: Sequence[str]
    request_timeout: str


class LiveOptions(msgspec.Struct, frozen=True):
    """What kubectl's options of the same names mean; everything unset is kubeconfig's business."""

    kubeconfig: str | None = None
    context: str | None = None
    #: `--as` and `--as-group`: whom to impersonate.
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    #: Seconds that one request may take; None: as long as it likes. An API server itself gives up after a minute.
    timeout: float | None = 60.0

    @classmethod
    def of(cls, **said: Unpack[LiveArguments]) -> Self:
        """The options that were said.

        Raises:
            ValueError: `request_timeout` is not a duration.
        """
        kubeconfig = said.get("kubeconfig")
        return cls(
            kubeconfig=None if kubeconfig is None else str(kubeconfig),
            context=said.get("context"),
            as_user=said.get("as_user"),
            as_groups=tuple(said.get("as_groups", ())),
            timeout=parse_timeout(said.get("request_timeout", "1m")),
        )
