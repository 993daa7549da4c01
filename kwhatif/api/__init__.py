"""kwhatif as a library; the command line uses nothing else.

```python
import kwhatif

cluster = kwhatif.load("cluster.yaml")
report = kwhatif.schedule(cluster, "pod.yaml")
for decision in report.decisions:
    print(decision.pod, decision.outcome, decision.node)
```
"""
