"""Things compiled once and asked often: selectors, tolerations, host ports, resource requests."""
