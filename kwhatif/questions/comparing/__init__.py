"""What is different between two clusters, and which answers differ because of it."""
