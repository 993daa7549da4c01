"""Dumps that other tools made: trees of files, in folders or archives, and exports in shapes of their own."""

from kwhatif.sources.dumps.foreign.read import ForeignDump, find_foreign, find_piped

__all__ = ["ForeignDump", "find_foreign", "find_piped"]
