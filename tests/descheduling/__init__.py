"""Descheduling cycles: kwhatif's and the descheduler's own."""
