"""From the scheduler's results to rows and verdicts of a report."""
