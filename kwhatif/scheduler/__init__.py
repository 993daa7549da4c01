"""kube-scheduler: the framework, its plugins, preemption, the queue, the configuration, the releases."""
