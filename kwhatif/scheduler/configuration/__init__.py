"""KubeSchedulerConfiguration: the file, its validation, and the profiles that are built from it."""
