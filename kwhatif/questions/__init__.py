"""The questions. Each runs scheduling cycles on a state, or a simulation, and writes a report."""
