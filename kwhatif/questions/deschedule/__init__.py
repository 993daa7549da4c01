"""What a descheduler evicts, and where the replacements land."""
