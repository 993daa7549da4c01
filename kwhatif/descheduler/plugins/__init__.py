"""One module per strategy of the descheduler, under its name."""
