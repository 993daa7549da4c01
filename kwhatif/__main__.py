"""`python -m kwhatif`."""

from kwhatif.cli import main

main()
