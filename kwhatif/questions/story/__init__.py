"""What follows: a simulation from its first step to its end, and the story of it."""
