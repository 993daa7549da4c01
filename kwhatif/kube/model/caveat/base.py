"""`BaseCaveat`: the fields that all caveats share."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.kube.model.meta import FrozenMeta


class BaseCaveat(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", tag_field="code", gc=False
):
    """Base of all caveats. `pods` are the pods that it concerns (`namespace/name`); none means all."""

    #: The text; "" until `render` fills it in.
    message: str = ""
    #: Whether information is missing, or something was not judged.
    missing: bool = False
    pods: tuple[str, ...] = ()

    #: The fields that name what it concerns: caveats that differ only in these are one about all of it.
    united: ClassVar[tuple[str, ...]] = ("pods",)
    #: Whether it turns a pass into a warning, unless a policy decides otherwise. None: only if it is `missing`.
    warns: ClassVar[bool | None] = None

    @property
    def code(self) -> str:
        """The stable name, such as `no-budgets`."""
        return code_of(type(self))

    @property
    def subject(self) -> str:
        """The workload that it concerns, such as `Deployment shop/web`; "" if it concerns no single workload."""
        return ""

    @property
    def level(self) -> str:
        """The level that it has unless a policy sets one: `warn` or `pass`."""
        return "warn" if (self.missing if self.warns is None else self.warns) else "pass"


class IncompleteCaveat(BaseCaveat, kw_only=True):
    """Base of the caveats about missing information, or about what was not judged: `--strict` fails on them."""

    missing: bool = True


def code_of(kind: type[BaseCaveat]) -> str:
    """The stable name of a kind of caveat."""
    return str(kind.__struct_config__.tag)
