"""The questions. Each asks cycles on a snapshot, or plays a simulation, and writes a report."""
