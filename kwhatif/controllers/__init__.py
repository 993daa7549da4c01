"""Controllers of kube-controller-manager: what each writes when something changes, or when its time has come."""
