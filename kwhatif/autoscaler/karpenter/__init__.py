"""Karpenter 1.14.1 (`sigs.k8s.io/karpenter`)."""
