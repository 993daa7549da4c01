"""Errors as lines for the user, and their exit codes."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from kwhatif.errors import ExitCode, InputError, KwhatifError
from kwhatif.render.safe import safe, shortened

#: How many problems are listed; the rest is only counted.
MAX_PROBLEMS = 20
#: Of a text that was given as a path, only the first characters are quoted.
_MAX_QUOTED = 60


class Failure(NamedTuple):
    """A failure as text; whatever it quotes from the input is inert."""

    code: ExitCode
    lines: tuple[str, ...]


def explained(failure: Exception) -> Failure:
    """The message and exit code for any exception that ended a command."""
    from kwhatif.sources.manifests.given import NotAPath

    match failure:
        case InputError(problems=problems):
            more = len(problems) - MAX_PROBLEMS
            rest = (f"... and {more} more problems",) if more > 0 else ()
            return Failure(failure.exit_code, (*map(_error, problems[:MAX_PROBLEMS]), *rest))
        case KwhatifError():
            return Failure(failure.exit_code, (_error(failure),))
        case NotAPath(text=text):
            quoted = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
            said = f"{quoted}: is text, not the name of a file: give a file, or - and pipe the text"
            return Failure(ExitCode.BAD_INPUT, (_error(said),))
        case OSError(errno=errno.ENOSPC):
            return Failure(ExitCode.BAD_INPUT, (_error(f"standard output cannot be written: {failure.strerror}"),))
    hint = () if os.environ.get("KWHATIF_DEBUG") else ("Set KWHATIF_DEBUG=1 to see where, and please report it.",)
    return Failure(ExitCode.BUG, (_error(f"kwhatif has a bug: {type(failure).__name__}: {failure}"), *hint))


def _error(said: object) -> str:
    return f"error: {safe(shortened(str(said)))}"
