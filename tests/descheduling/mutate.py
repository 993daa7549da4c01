"""Policies with something wrong in them, as people and templates get them wrong.

`python -m tests.descheduling.mutate` lets the descheduler's own packages decide some of them, for `make test`.
"""

import json
import lzma
from collections.abc import Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any

import yaml

from tests import FIXTURES
from tests.descheduling.generate import ARGUMENTS, generate

Json = dict[str, Any]
#: The share that is written as JSON, of which the order of fields counts.
_JSON = 0.2
RECORDED = FIXTURES / "descheduler" / "policies.jsonl.xz"
_MOST = 400
#: A container in the policy, and the key or index of an entry.
Place = tuple[Any, Any]

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.5, 101, 2**31, 2**64, "", "x", "1", "1h", "true", [], {}, ["x"], [1], [None], {"x": 1},
    "Always", ["cpu"], {"cpu": 10}, {"cpu": "10"}, {"cpu": -1}, {"include": ["a"], "exclude": ["b"]}, {"value": 1},
    {"name": "high"}, {"matchLabels": {"a": "b"}}, {"matchExpressions": [{"key": "a", "operator": "Is"}]},
)  # fmt: skip
_NAMES = (
    "thresholds", "targetThresholds", "namespaces", "labelSelector", "nodeFit", "numberOfNodes", "evictionLimits", "states",
    "maxNoOfPodsToEvictPerNode", "nodeSelector", "priorityThreshold", "minPodAge", "podProtections", "enabled", "disabled",
    "sort", "profiles", "metricsProviders", "metricsCollector", "includingInitContainers", "excludedTaints", "reasons",
    "evictionModes", "constraints", "ownerKinds", "conditions", "apiVersion", "kind", "evictableNamespaces",
)  # fmt: skip


def mutated(seed: object) -> Json:
    """A case whose policy is wrong in one to three places, or was only changed."""
    random = Random(f"{seed}")
    case = generate(seed, random.choice((*ARGUMENTS, "mixed")))
    policy = json.loads(case["policy"])
    for _ in range(random.randint(1, 3)):
        _mutate(policy, random)
    text = json.dumps(policy) if random.random() < _JSON else yaml.safe_dump(policy, sort_keys=False)
    return case | {"policy": text}


def _mutate(policy: Json, random: Random) -> None:
    places = list(_places(policy))
    if not places:
        return
    container, key = random.choice(places)
    match random.choice(("value", "value", "remove", "rename", "add", "twice", "plugin")):
        case "value":
            container[key] = deepcopy(random.choice(_VALUES))
        case "remove":
            del container[key]
        case "rename" if isinstance(container, dict):
            container[_misspelt(key, random)] = container.pop(key)
        case "add" if isinstance(container, dict):
            container[random.choice(_NAMES)] = deepcopy(random.choice(_VALUES))
        case "twice" if isinstance(container, list):
            container.append(deepcopy(container[key]))
        case "plugin" if isinstance(container[key], str):
            container[key] = random.choice((*ARGUMENTS, "DefaultEvictor", "RemovePods"))


def _places(value: Any) -> Iterator[Place]:
    entries: Any = ()
    if isinstance(value, Mapping):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, inner in entries:
        yield value, key
        yield from _places(inner)


def _misspelt(name: str, random: Random) -> str:
    return random.choice((name.upper(), name.capitalize(), f"{name}s", name[:-1], name.lower()))


def recorded() -> list[Json]:
    """Each with a `policy`, and the `error` with which it is refused; null: it is not."""
    return [json.loads(line) for line in lzma.decompress(RECORDED.read_bytes()).splitlines()]


def main() -> None:
    """Ask the judge; what depends on the order of a map is left out."""
    from tests.descheduling.fuzz import Judge

    judge = Judge()
    found: dict[str, Json] = {}
    for number in range(_MOST):
        case = mutated(f"recorded/{number}")
        errors = {judge.outcomes(case, 1)[0].get("error") for _ in range(10)}
        if len(errors) == 1:
            found[case["policy"]] = {"policy": case["policy"], "error": errors.pop()}
    RECORDED.write_bytes(lzma.compress("\n".join(map(json.dumps, found.values())).encode()))


if __name__ == "__main__":
    main()
