"""What controllers do next: pure functions from what there is to what is made and deleted. They place nothing."""
