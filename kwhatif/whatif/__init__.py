"""The questions: schedule, preempt, gate. Each asks cycles on a snapshot and writes a report."""
