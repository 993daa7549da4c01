"""What the API server and its controllers make of objects before the scheduler sees them."""
