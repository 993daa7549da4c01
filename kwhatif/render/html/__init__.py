"""A report as one HTML file: it fetches nothing, and only its own script and style act in it."""
