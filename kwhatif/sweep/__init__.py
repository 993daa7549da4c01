"""Many scenarios of one cluster: it is loaded once, settles once, and each scenario goes on from there on a fork.

    scenario    what is asked of each, and `Player`, which answers
    processes   players side by side, in processes of this machine
    on_dask     the same on a Dask cluster
    report      the answers as a report, the worst first

Whoever plays a scenario, the answer is the same.
"""
