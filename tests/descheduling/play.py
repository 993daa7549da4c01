"""Play a case on kwhatif: a cluster, a policy, a moment."""

import io
import json
from typing import Any

import kwhatif
from kwhatif.descheduler.attempt import DeschedulingCycle
from kwhatif.descheduler.cycle import run_cycle
from kwhatif.descheduler.sandbox import Sandbox
from kwhatif.errors import InputError
from kwhatif.kube.model.meta import parse_time
from kwhatif.sources.descheduler_policy import read_descheduler_policy
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.state.state import State


def play(case: dict[str, Any]) -> DeschedulingCycle | str:
    """The cycle, or the words in which the policy is refused."""
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": case["cluster"]})
    cluster = read_cluster(["-"], stdin=io.BytesIO(objects.encode())).cluster
    try:
        text = kwhatif.text(case["policy"], "policy.yaml")
        policy = read_descheduler_policy(text, cluster, stdin=io.BytesIO()).policy
    except InputError as failure:
        return str(failure)
    return run_cycle(policy, Sandbox(State(cluster), parse_time(case["now"])))
