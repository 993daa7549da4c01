"""A cluster that is loaded: its session, what it lacks, and what it holds that is not modelled."""
