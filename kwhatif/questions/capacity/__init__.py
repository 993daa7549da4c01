"""How many more pods fit."""
