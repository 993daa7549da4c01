"""Calls of what is not kwhatif's own: whatever they raise is reported with plugin, point, pod and node."""

from __future__ import annotations

from collections.abc import Callable
from opcode import opmap
from typing import Any, NamedTuple, NoReturn, TypeVar

from kwhatif.errors import KwhatifError, PluginFailed
from kwhatif.framework.cycle import CycleError

T = TypeVar("T")


#: Reported elsewhere already, or part of the cycle's own ways.
_PASSED_ON = (KwhatifError, CycleError)


_RAISE = opmap["RAISE_VARARGS"]


#: Exceptions of the fence, whose messages are about the plugin.
_SPEAK_FOR_THEMSELVES = ("TookTooLong", "StreamClosed", "EndsProcess")


def called(function: Callable[..., Any], *arguments: object, timed: bool = True) -> Any:  # noqa: ARG001
    """Just call it: a plugin that is fenced off from the process has another way of being called."""
    return function(*arguments)


class CallSite(NamedTuple):
    """Which plugin is asked about which pod, and where; and how it is called."""

    plugin: str
    point: str
    pod: str
    node: str = ""
    fence: Callable[..., Any] = called

    def call(self, function: Callable[..., object], *arguments: object, returns: type[T] | tuple[type, ...]) -> T:
        """Call the plugin.

        Raises:
            PluginFailed: it raised, or returned something else than it must.
        """
        try:
            result = self.fence(function, *arguments, timed=self.point != "PostFilter")
            is_right = isinstance(result, returns)
        except _PASSED_ON:
            raise
        except BaseException as failure:
            if is_ctrl_c(failure):
                raise
            self.fail(described(failure), failure)
        if not is_right:
            kinds = returns if isinstance(returns, tuple) else (returns,)
            wanted = " or ".join(kind.__name__ for kind in kinds)
            self.fail(f"it returned {type(result).__name__}, not {wanted}", None)
        return result  # type: ignore[no-any-return] # checked above; only the caller distinguishes several types

    def fields(self, owner: object, **kinds: type | tuple[type, ...]) -> list[Any]:
        """The fields of what a plugin has returned; they may be properties, which raise.

        Raises:
            PluginFailed: one did, or is of another kind than it must be.
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
    """Type and message of an exception, whatever printing it does."""
    name = type(failure).__name__
    if name in _SPEAK_FOR_THEMSELVES:
        return str(failure)
    try:
        return f"{name}: {failure}"
    except BaseException:  # noqa: BLE001 - whatever it is, it is the plugin's
        return f"{name}, which cannot be printed"


def is_ctrl_c(failure: BaseException) -> bool:
    """Whether a person has pressed Ctrl-C: then no `raise` of the plugin has raised this."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if not isinstance(failure, KeyboardInterrupt) or trace is None:
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] != _RAISE
