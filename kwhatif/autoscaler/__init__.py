"""Autoscalers of nodes: which nodes each would add for pending pods, and which it would remove.

Pure functions, as in the descheduler: from a state to a decision. The two autoscalers do not depend on each other.
"""
