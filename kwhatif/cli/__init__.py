"""The command line: thin, one module per command. Answers go to stdout, everything else to stderr."""

from kwhatif.cli.app import console, main

__all__ = ["console", "main"]
