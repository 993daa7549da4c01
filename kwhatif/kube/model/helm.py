"""Helm hooks: objects of a chart that Helm creates before or after the other objects, or not at install and upgrade.

`helm template` prints hooks together with the other objects. Follows Helm 3 and 4
(`pkg/release/util/manifest_sorter.go`, `pkg/action/hooks.go`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

HOOK = "helm.sh/hook"
_WEIGHT = "helm.sh/hook-weight"
_DELETE_POLICY = "helm.sh/hook-delete-policy"

#: Before or after the other objects of an install or an upgrade.
Phase = Literal["before", "after"]
_PHASES: Mapping[str, Phase] = {
    "pre-install": "before",
    "pre-upgrade": "before",
    "post-install": "after",
    "post-upgrade": "after",
}
_ON_OTHER_OCCASIONS = frozenset(("pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success"))
_BEFORE_CREATION, _SUCCEEDED = "before-hook-creation", "hook-succeeded"
_NUMBER = re.compile(r"[+-]?\d{1,18}")


class HelmHook(msgspec.Struct, frozen=True):
    """A hook, from the annotations of an object."""

    #: The hook events in lower case, in the order of the annotation.
    events: tuple[str, ...]
    weight: int = 0
    delete_policies: tuple[str, ...] = (_BEFORE_CREATION,)

    @property
    def phase(self) -> Phase | None:
        """When an install or an upgrade creates the hook; None: never.

        Helm leaves out an object with an unknown event, such as `crd-install` of Helm 2.
        """
        if not all(event in _PHASES or event in _ON_OTHER_OCCASIONS for event in self.events):
            return None
        phases = [_PHASES[event] for event in self.events if event in _PHASES]
        return None if not phases else "before" if "before" in phases else "after"

    @property
    def replaces(self) -> bool:
        """Whether Helm first deletes the object of a previous run."""
        return _BEFORE_CREATION in self.delete_policies

    @property
    def passes(self) -> bool:
        """Whether Helm deletes the object when all hooks of its phase have succeeded."""
        return _SUCCEEDED in self.delete_policies

    @property
    def said(self) -> str:
        """The events, in the notation of the annotation."""
        return ", ".join(self.events)


def hook_of(annotations: Mapping[str, str]) -> HelmHook | None:
    """The hook that the annotations declare; None: the object is not a hook."""
    if HOOK not in annotations:
        return None
    policies = _words(annotations.get(_DELETE_POLICY, ""))
    known = tuple(policy for policy in policies if policy in (_BEFORE_CREATION, _SUCCEEDED, "hook-failed"))
    weight = annotations.get(_WEIGHT, "")
    return HelmHook(
        _words(annotations[HOOK]),
        int(weight) if _NUMBER.fullmatch(weight) else 0,
        known or (_BEFORE_CREATION,),
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip().lower() for word in text.split(","))
