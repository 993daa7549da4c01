"""Groups of pods: the cycle that places them together, and whom they evict (`schedule_one_podgroup.go`, 1.37)."""
