"""Random clusters and pods, judged by kwhatif and by kube-scheduler itself; see `tests/oracle/README.md`."""
