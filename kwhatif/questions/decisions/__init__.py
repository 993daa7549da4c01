"""From what the scheduler finds to rows and verdicts of a report."""
