"""Autoscalers of nodes: which nodes each would add for pending pods, and which it would remove.

Pure, as the descheduler is: a state goes in, a decision comes out. The two know nothing of each other.
"""
