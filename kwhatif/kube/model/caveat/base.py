"""`BaseCaveat`: the fields that all caveats share."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.kube.model.meta import FrozenMeta


class BaseCaveat(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", tag_field="code", gc=False
):
    """Base of all caveats. `pods` are the pods that the caveat concerns (`namespace/name`); empty means all pods."""

    #: The text; "" until `render` fills it in.
    message: str = ""
    #: Whether information is missing, or something was not judged.
    missing: bool = False
    pods: tuple[str, ...] = ()

    #: The fields with the objects that the caveat concerns: caveats that differ only in these fields are merged.
    united: ClassVar[tuple[str, ...]] = ("pods",)
    #: Whether the caveat turns a pass into a warning, unless a policy decides otherwise. None: only with `missing`.
    warns: ClassVar[bool | None] = None

    @property
    def code(self) -> str:
        """The stable name, such as `no-budgets`."""
        return code_of(type(self))

    @property
    def subject(self) -> str:
        """The workload that the caveat concerns, such as `Deployment shop/web`; "" if there is no single workload."""
        return ""

    @property
    def level(self) -> str:
        """The default level, unless a policy sets one: `warn` or `pass`."""
        return "warn" if (self.missing if self.warns is None else self.warns) else "pass"


class IncompleteCaveat(BaseCaveat, kw_only=True):
    """Base of caveats about missing information, or about objects that were not judged: `--strict` fails on them."""

    missing: bool = True


def code_of(kind: type[BaseCaveat]) -> str:
    """The stable name of a kind of caveat."""
    return str(kind.__struct_config__.tag)
