"""Random clusters and pods, judged by kwhatif and by kube-scheduler itself (`tests/oracle`); see README.md."""
