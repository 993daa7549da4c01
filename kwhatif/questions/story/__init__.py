"""Simulations over time, and the stories about them."""
