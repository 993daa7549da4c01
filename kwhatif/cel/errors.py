"""What can be wrong with an expression, in the words of the API server and of cel-go."""

from __future__ import annotations

from kwhatif.errors import KwhatifError


class CelError(KwhatifError):
    """An expression could not be used; `message` is the text that Kubernetes would give."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CelCompileError(CelError):
    """The expression is not valid, whatever it may be evaluated on."""


class CelRuntimeError(CelError):
    """The expression is valid, but it has no value for these data."""
