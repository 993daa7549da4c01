"""Controllers of kube-controller-manager: what each writes after a change or at a certain time."""
