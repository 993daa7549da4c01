"""The command line: thin, one module per command. Answers go to stdout, everything else to stderr."""

from kwhatif.cli.app import main

__all__ = ["main"]
