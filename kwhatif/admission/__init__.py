"""What the API server and its controllers do to objects before the scheduler sees them."""
