"""Owners that the input lacks because their kind was not dumped: derived from their pods."""
