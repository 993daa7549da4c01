"""Go types in the arguments of the descheduler's plugins, which its messages name."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from kwhatif.kube.model.meta import Model


def quoted(text: str) -> str:
    """The text in quotes, as `%q` prints it."""
    return msgspec.json.encode(text).decode()


def go_type(name: str) -> Meta:
    """The name of the type in messages."""
    return Meta(extra={"go": name})


#: Go's integer types and their ranges.
INTEGERS = {
    "uint": (0, 2**64 - 1),
    "int": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
Uint = Annotated[int, go_type("uint")]
Int = Annotated[int, go_type("int")]
Int32 = Annotated[int, go_type("int32")]
Int64 = Annotated[int, go_type("int64")]
Percentage = Annotated[float, go_type("api.Percentage")]
#: Resource -> percent.
ResourceThresholds = Annotated[dict[str, Percentage], go_type("api.ResourceThresholds")]
MetricsSource = Annotated[str, go_type("api.MetricsSource")]


class Args(Model):
    """Base of all arguments."""

    #: The name of the Go type in messages.
    go: ClassVar[str] = ""
    api_version: str = ""
    kind: str = ""
