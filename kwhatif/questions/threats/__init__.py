"""Who could evict pods, and which pods a node takes."""
