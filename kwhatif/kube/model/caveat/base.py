"""`BaseCaveat`: what all caveats have."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.kube.model.meta import FrozenMeta


class BaseCaveat(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", tag_field="code", gc=False
):
    """Base. `pods` are those it is about (`namespace/name`); none means all."""

    #: The sentence; "" until `render` fills it in.
    message: str = ""
    #: Information is missing, or something was left unjudged.
    missing: bool = False
    pods: tuple[str, ...] = ()

    #: Whether an answer that looks good becomes a warning, unless a policy decides otherwise. None: if it is `missing`.
    warns: ClassVar[bool | None] = None

    @property
    def code(self) -> str:
        """The stable name, such as `no-budgets`."""
        return code_of(type(self))

    @property
    def subject(self) -> str:
        """The workload that it is about, such as `Deployment shop/web`; "" where that is not one in particular."""
        return ""

    @property
    def level(self) -> str:
        """What it counts for where no policy says it: `warn` or `pass`."""
        return "warn" if (self.missing if self.warns is None else self.warns) else "pass"


class IncompleteCaveat(BaseCaveat, kw_only=True):
    """Base of those about missing information, or something that was left unjudged: `--strict` fails on them."""

    missing: bool = True


def code_of(kind: type[BaseCaveat]) -> str:
    """The stable name of a kind of caveat."""
    return str(kind.__struct_config__.tag)
