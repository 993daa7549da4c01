"""Saving a cluster to one file that can be shared: what scheduling reads, and nothing else."""

from kwhatif.sources.saving.save import Moment, Saved, save

__all__ = ["Moment", "Saved", "save"]
