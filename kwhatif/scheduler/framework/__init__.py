"""The scheduling framework: statuses with evidence, plugin protocols, profiles, and the cycle."""
