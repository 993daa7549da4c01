"""When a question about a changing cluster is worth asking again."""
