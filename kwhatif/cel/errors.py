"""Errors of expressions, with the messages of the API server and of cel-go."""

from __future__ import annotations

from kwhatif.errors import KwhatifError


class CelError(KwhatifError):
    """An expression has an error; `message` is Kubernetes' text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CelCompileError(CelError):
    """The expression is not valid."""


class CelRuntimeError(CelError):
    """The expression is valid, but its evaluation fails for this data."""
