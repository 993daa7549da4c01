"""Changes of a manifest's rules about other pods: pod (anti-)affinity, topology spread constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.matching.affinity import AffinityTerm
from kwhatif.kube.matching.labels import SelectorError
from kwhatif.kube.model.affinity import PodAffinityTerm, TopologySpreadConstraint
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.change import PREFERRED, REQUIRED, WEIGHT, AdvisedChange, Spec, in_spec
from kwhatif.report.advise import AdviceKind
from kwhatif.scheduler.framework.evidence import PodAffinityUnmatched, PodAntiAffinityMatched, SpreadSkew

#: The extra cost of each further term that is softened with the first.
_ANOTHER_TERM = 15
#: Evidence about a term of the pod's own (anti-)affinity.
OwnTerm = PodAffinityUnmatched | PodAntiAffinityMatched


def wider(pod: Pod, evidence: SpreadSkew) -> Iterator[AdvisedChange]:
    """The skew that there would be."""
    skew = evidence.matching + evidence.self_match - evidence.minimum
    for place, constraint in enumerate(pod.spec.topology_spread_constraints):
        if _is_hard(constraint, evidence.topology_key) and constraint.max_skew == evidence.max_skew:
            yield _skewed(place, evidence.topology_key, evidence.max_skew, skew)
            return


def _skewed(place: int, key: str, before: int, skew: int) -> AdvisedChange:
    def revise(spec: Spec) -> None:
        spec["topologySpreadConstraints"][place]["maxSkew"] = skew

    return in_spec("widen-skew", revise, about=key, before=str(before), after=str(skew))


def soft_spread(pod: Pod, key: str) -> Iterator[AdvisedChange]:
    """Every constraint over this key is preferred instead of required."""
    places = [
        place for place, constraint in enumerate(pod.spec.topology_spread_constraints) if _is_hard(constraint, key)
    ]

    def revise(spec: Spec) -> None:
        for place in places:
            spec["topologySpreadConstraints"][place]["whenUnsatisfiable"] = "ScheduleAnyway"

    if places:
        yield in_spec("soften-spread", revise, about=key, before="DoNotSchedule", after="ScheduleAnyway")


def _is_hard(constraint: TopologySpreadConstraint, key: str) -> bool:
    return constraint.topology_key == key and constraint.when_unsatisfiable == "DoNotSchedule"


def soft_terms(pod: Pod, objecting: Sequence[OwnTerm]) -> Iterator[AdvisedChange]:
    """The unmatched terms become preferred; they are all of affinity, or all of anti-affinity."""
    affinity = pod.spec.affinity
    away = isinstance(objecting[0], PodAntiAffinityMatched)
    kind = "podAntiAffinity" if away else "podAffinity"
    rule = None if affinity is None else affinity.pod_anti_affinity if away else affinity.pod_affinity
    terms = rule.required if rule else ()
    places = [place for place, term in enumerate(terms) if any(_is_about(term, pod, each) for each in objecting)]

    def revise(spec: Spec) -> None:
        side = spec["affinity"][kind]
        soft = [side[REQUIRED][place] for place in places]
        hard = [term for place, term in enumerate(side[REQUIRED]) if place not in places]
        if hard:
            side[REQUIRED] = hard
        else:
            del side[REQUIRED]
        side.setdefault(PREFERRED, []).extend({"weight": WEIGHT, "podAffinityTerm": term} for term in soft)

    def less() -> Iterator[AdvisedChange]:
        for term in objecting if len(objecting) > 1 else ():
            yield from soft_terms(pod, [each for each in objecting if each is not term])

    if places:
        name: AdviceKind = "soften-anti-affinity" if away else "soften-pod-affinity"
        keys, selectors = ({each.topology_key: 0 for each in objecting}, {each.selector: 0 for each in objecting})
        extra = _ANOTHER_TERM * (len(objecting) - 1)
        yield in_spec(name, revise, extra=extra, about=" and ".join(keys), before=" and ".join(selectors), less=less)


def _is_about(term: PodAffinityTerm, pod: Pod, evidence: OwnTerm) -> bool:
    try:
        compiled = AffinityTerm(term, pod.metadata.namespace)
    except SelectorError:
        return False
    return compiled.topology_key == evidence.topology_key and compiled.selector_text == evidence.selector
