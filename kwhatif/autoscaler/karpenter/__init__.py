"""Karpenter."""
