"""The policy: what a report must not hold, who may be excused, and until when."""
