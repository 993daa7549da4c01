"""kwhatif as a library: a module for each group of questions. Import from `kwhatif`; the command line does, too."""
