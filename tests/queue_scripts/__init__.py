"""Plays scripts on kwhatif's scheduling queue and prints its states, as `fixtures/queue/README.md` has them.

python -m tests.queue_scripts SCRIPT
"""
