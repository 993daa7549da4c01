"""The questions. Each runs scheduling cycles on a snapshot, or a simulation, and writes a report."""
