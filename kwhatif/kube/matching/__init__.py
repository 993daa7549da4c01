"""Rules that are compiled once and evaluated often: selectors, tolerations, host ports, resource requests."""
