"""How each kind of workload gets from the pods that are there to those that a manifest asks for."""
