"""Pure functions from a report to text; no decision is made here."""
