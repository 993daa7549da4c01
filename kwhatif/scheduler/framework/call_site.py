"""Calls of third-party plugins: what they raise is reported with plugin, extension point, pod and node."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, NamedTuple, NoReturn, TypeVar

from kwhatif.errors import KwhatifError, PluginFailed
from kwhatif.scheduler.framework.cycle import CycleError

T = TypeVar("T")


#: Already reported, part of the cycle's control flow, or an interrupt by the user.
PASSED_ON = (KwhatifError, CycleError, KeyboardInterrupt)


def called(function: Callable[..., T], *arguments: object) -> T:
    """Call third-party code: what it prints goes to standard error, not into the answer."""
    with redirect_stdout(sys.stderr):
        return function(*arguments)


class CallSite(NamedTuple):
    """Which plugin is called for which pod, at which extension point and node."""

    plugin: str
    point: str
    pod: str
    node: str = ""

    def call(self, function: Callable[..., Any], *arguments: object, returns: type[T] | tuple[type, ...]) -> T:
        """Call the plugin.

        Raises:
            PluginFailed: it raised, or returned a wrong type.
        """
        try:
            result = called(function, *arguments)
            is_right = isinstance(result, returns)
        except PASSED_ON:
            raise
        except BaseException as failure:  # noqa: BLE001 - SystemExit, too
            self.fail(described(failure), failure)
        if not is_right:
            kinds = returns if isinstance(returns, tuple) else (returns,)
            wanted = " or ".join(kind.__name__ for kind in kinds)
            self.fail(f"it returned {type(result).__name__}, not {wanted}", None)
        return result  # type: ignore[no-any-return] # its type was checked above

    def fields(self, owner: object, **kinds: type | tuple[type, ...]) -> list[Any]:
        """The fields of an object that a plugin returned; they may be properties, which can raise.

        Raises:
            PluginFailed: one raised, or has a wrong type.
        """
        found: list[Any] = self.call(lambda: [getattr(owner, name) for name in kinds], returns=list)
        for (name, kind), value in zip(kinds.items(), found, strict=True):
            if not issubclass(type(value), kind):
                self.fail(f"{name} is of type {type(value).__name__}", None)
        return found

    def fail(self, what: str, cause: BaseException | None) -> NoReturn:
        """Say what happened, and where."""
        node = f" on node {self.node}" if self.node else ""
        raise PluginFailed(f"plugin {self.plugin} failed in {self.point} for pod {self.pod}{node}: {what}") from cause


def described(failure: BaseException) -> str:
    """Type and message of an exception."""
    try:
        return f"{type(failure).__name__}: {failure}"
    except Exception:  # noqa: BLE001 - whatever it is, it is the plugin's
        return f"{type(failure).__name__}, which cannot be printed"
