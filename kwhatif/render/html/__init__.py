"""A report as one HTML file: nothing is fetched, and nothing acts in it but its own script and style."""
