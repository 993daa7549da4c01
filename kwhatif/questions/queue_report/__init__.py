"""The question of `kwhatif queue`: who waits, what rejected each, what would wake it, and what a change would do."""
