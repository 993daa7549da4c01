"""The scheduler that is asked: its release, its configuration, plugins of your own."""
