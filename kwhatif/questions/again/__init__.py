"""When a question about a cluster that goes on changing is worth asking again."""
