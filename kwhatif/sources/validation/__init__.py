"""What types cannot say of an object: quantities, times, selectors and names must mean something."""
