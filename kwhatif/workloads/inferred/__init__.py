"""Owners that the input lacks, because nobody dumped their kind: what their pods show of them."""
