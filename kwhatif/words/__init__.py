"""Sentences about rows of the report, shared by policy findings and tables, as plain text."""
