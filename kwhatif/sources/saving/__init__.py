"""Saving a cluster to one file that can be shared: what scheduling reads, and nothing else."""

from kwhatif.sources.saving.save import Moment, save

__all__ = ["Moment", "save"]
