"""The one place that states kwhatif's version."""

__version__ = "0.1.0"
