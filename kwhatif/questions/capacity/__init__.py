"""How many more fit."""
