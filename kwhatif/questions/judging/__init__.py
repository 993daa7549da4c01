"""`judge`: what becomes of the pods if all of this is applied."""
