"""Loaded clusters: sessions, and caveats about what the input lacks, or has and is not modelled."""
