"""Many scenarios of one cluster: it is loaded and settles once, and each scenario continues on a fork.

    processes   players in parallel, in processes on this machine
    on_dask     the same on a Dask cluster

The answer does not depend on which of them plays a scenario.
"""
