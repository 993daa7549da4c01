"""From documents to typed objects: the kinds that are read, and what is wrong with a value that is not one of them."""
