"""Play a case on kwhatif: a cluster, a policy, a moment."""

from __future__ import annotations

import io
import json
from typing import Any

from kwhatif.descheduler.attempt import Cycle
from kwhatif.descheduler.build import build_policy
from kwhatif.descheduler.cycle import run_cycle
from kwhatif.descheduler.world import World
from kwhatif.errors import InputError
from kwhatif.model.meta import parse_time
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.scheduler.config import read_config
from kwhatif.state.state import State


def play(case: dict[str, Any]) -> Cycle | str:
    """The cycle, or the words in which the policy is refused."""
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": case["cluster"]})
    cluster = read_cluster(["-"], stdin=io.BytesIO(objects.encode())).cluster
    try:
        file = read_config("-", stdin=io.BytesIO(case["policy"].encode()), kind="DeschedulerPolicy", may_be_empty=True)
        policy, _ = build_policy(file.data, "policy.yaml", cluster)
    except InputError as failure:
        return str(failure)
    return run_cycle(policy, World(State(cluster), parse_time(case["now"])))
