"""How fast kwhatif is: `python -m benchmarks` measures and writes docs/performance.md.

A benchmark is a module of this package with a `TITLE`, perhaps a `NOTE` that explains its figures, and a function
`rows(context)` that measures as it yields:

    TITLE = "Many pods"

    def rows(context: Context) -> Iterator[Row]:
        session = context.session(context.large)
        ...
        yield Row("10,000 equal replicas", 2_345.0, "pods/s", target=at_least(2_000))

`context` has the dumps and sessions that benchmarks share; with `context.quick` they are tiny, and once is enough.
`benchmarks/__main__.py` names the modules, in the order of the document. Nothing is asserted here but by the targets.
"""
