"""What another release of the scheduler decides differently."""
