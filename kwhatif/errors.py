"""Every way in which kwhatif refuses to answer, and the exit code of each.

```
KwhatifError
├── InputError          3   the input is wrong: every problem is listed
├── ClusterUnreadable   4   the live cluster could not be read
├── PluginFailed        3   a plugin that is not kwhatif's own raised
└── WorkersLost         3   processes that were to help have ended again and again
```

"No" is never an exception: what the scheduler would refuse is a `Status` (see `framework`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class ExitCode(IntEnum):
    """Exit codes of the command line; scripts rely on them."""

    OK = 0
    ANSWERED_NO = 1
    USAGE = 2
    BAD_INPUT = 3
    CLUSTER_UNREADABLE = 4
    BUG = 70
    INTERRUPTED = 130
    #: Whoever read the answer has closed the pipe: 128 + SIGPIPE, as shells have it.
    PIPE_CLOSED = 141


class Problem(NamedTuple):
    """One thing that is wrong with the input, and where.

    `where` names file, document and object ("cluster.yaml, document 3 (Pod shop/web)"), `field` the path within it
    ("spec.containers[0].resources.requests.cpu"), `hint` what to do about it. `file`, `line` and `object` say the same
    for programs, as far as it is known.
    """

    where: str
    message: str
    field: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0
    object: str = ""

    def __str__(self) -> str:
        """The problem on one line, as the command line prints it."""
        place = f"{self.where}: {self.field}" if self.field else self.where
        return f"{place}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class KwhatifError(Exception):
    """Base of everything that kwhatif raises on purpose; wrong input unless a class says otherwise."""

    exit_code = ExitCode.BAD_INPUT


class InputError(KwhatifError):
    """The input cannot be used; carries every problem that was found, not just the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ClusterUnreadable(KwhatifError):
    """The live cluster could not be read; the message says which request failed and what to do."""

    exit_code = ExitCode.CLUSTER_UNREADABLE


class PluginFailed(KwhatifError):
    """A third-party plugin raised: names the plugin, the extension point, the pod and the node."""


class OutOfTime(KwhatifError):
    """Nothing waits any longer for what is being played. What asks for it within a time catches this."""


class WorkersLost(KwhatifError):
    """Processes of `--jobs`, or workers of `--dask`, have ended again and again: the message says at which scenario."""
