"""How fast kwhatif is: `python -m benchmarks` measures and writes docs/performance.md."""
