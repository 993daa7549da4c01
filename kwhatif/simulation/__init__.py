"""The cluster in motion: a clock, kubelets, controllers and the scheduler, until nothing happens any more."""
