"""The command line: thin, one module per family of commands. Answers go to stdout, everything else to stderr.

The commands are imported when one of the functions is called: until then Ctrl-C just ends the process.
"""

from __future__ import annotations

import signal
from typing import NoReturn

__all__ = ["complete_for_kubectl", "console", "main"]


def main() -> None:
    """Run the command line and exit with the code that the outcome deserves."""
    from kwhatif.cli.app import main as run

    run()


def complete_for_kubectl() -> None:
    """What kubectl runs for `kubectl whatif …<Tab>`."""
    from kwhatif.cli.about import complete_for_kubectl as complete

    complete()


def console() -> NoReturn:
    """`main` as a process of its own: it exits at once, without freeing a gigabyte object by object."""
    usual = signal.getsignal(signal.SIGINT)
    is_interruptible = usual is signal.default_int_handler
    if is_interruptible:  # nothing has begun yet, and an interrupted import would end in a traceback
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kwhatif.cli.app import console as run

    if is_interruptible:
        signal.signal(signal.SIGINT, usual)
    run()
