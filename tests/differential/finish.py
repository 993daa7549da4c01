"""The last touches, once no feature changes the scene any more."""

from collections.abc import Iterator

from tests.differential.scene import DEFAULT, Object, Scene
from tests.differential.sizes import make_consistent


def finish(scene: Scene) -> None:
    """What the API server would have made of the scene, and what keeps its answer free of chance."""
    for pod in scene.everyone():
        make_consistent(pod)
        for term in _affinity_terms(pod):
            _merge_label_keys(term, pod["metadata"].get("labels", {}))
    _check_names(scene)
    _distinct_start_times(scene)


def _affinity_terms(pod: Object) -> Iterator[Object]:
    affinity = pod["spec"].get("affinity", {})
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side, {})
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution", ())
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            yield weighted["podAffinityTerm"]


def _merge_label_keys(term: Object, labels: dict[str, str]) -> None:
    """What the API server makes of `matchLabelKeys`, when the pod is created."""
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field, ()):
            if key in labels:
                wanted = {"key": key, "operator": operator, "values": [labels[key]]}
                selector = term["labelSelector"]
                term["labelSelector"] = {
                    **selector,
                    "matchExpressions": [*selector.get("matchExpressions", []), wanted],
                }


def _check_names(scene: Scene) -> None:
    """A generator's mistake would be reported as a disagreement: both sides read such a file their own way."""
    seen: set[tuple[str, str, str]] = set()
    for obj in (*scene.nodes, *scene.pods, *scene.objects):
        key = (obj["kind"], obj["metadata"].get("namespace", DEFAULT), obj["metadata"]["name"])
        assert key not in seen, key
        seen.add(key)


def _distinct_start_times(scene: Scene) -> None:
    """Within a node no two pods began at the same time, and at most one has not begun."""
    by_node: dict[str, set[str]] = {}
    for pod in scene.running():
        seen = by_node.setdefault(pod["spec"]["nodeName"], set())
        status = pod.setdefault("status", {})
        time = status.get("startTime", "")
        if time in seen:
            status["startTime"] = scene.moment()
        seen.add(time)
