"""`python -m kwhatif`."""

from kwhatif.cli import console

console()
