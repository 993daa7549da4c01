"""Inter-pod affinity terms, compiled; and which pods an option chooses."""

from typing import Any

import msgspec
import pytest

from kwhatif.kube.matching.labels import selector_text
from kwhatif.kube.matching.pods import NO_TERMS, affinity_terms, pod_choice
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod import Pod
from tests.builders import ZONE, affinity_term, pod, requirement, selector

WEB = affinity_term(ZONE, selector(app="web"))


def test_a_pod_without_affinity_has_no_terms() -> None:
    assert affinity_terms(pod().build()) is NO_TERMS
    assert affinity_terms(pod().node_affinity().build()) is NO_TERMS


def test_replicas_share_their_terms_but_not_across_namespaces() -> None:
    one, two = (affinity_terms(pod(name).pod_affinity(WEB).build()) for name in ("one", "two"))
    other = affinity_terms(pod("one", "shop").pod_affinity(WEB).build())
    assert one is two
    assert one.required[0].namespaces == {"default"}
    assert other.required[0].namespaces == {"shop"}


def test_each_kind_has_its_place_and_weight() -> None:
    built = pod().pod_affinity(WEB).pod_anti_affinity(WEB, WEB).prefer_pods(3, WEB).prefer_not_pods(5, WEB)
    terms = affinity_terms(built.build())
    assert (len(terms.required), len(terms.required_anti)) == (1, 2)
    assert [weight for weight, _ in (*terms.preferred, *terms.preferred_anti)] == [3, 5]


def test_a_kind_that_does_not_parse_has_no_terms_and_leaves_the_others_alone() -> None:
    broken = affinity_term(ZONE, selector(requirement("app", "In")))
    terms = affinity_terms(pod().pod_affinity(WEB, broken).pod_anti_affinity(WEB).build())
    assert terms.required == ()
    assert len(terms.required_anti) == 1
    assert terms.problem.startswith("requiredAffinityTerms: values: Invalid value")


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (None, "<none>"),
        (selector(), "<all>"),
        (selector(tier="front", app="web"), "app=web,tier=front"),
        (selector(requirement("app", "In", "web", "api")), "app in (api,web)"),
        (selector(requirement("app", "NotIn", "web")), "app notin (web)"),
        (selector(requirement("b", "Exists"), requirement("a", "DoesNotExist")), "!a,b"),
    ],
)
def test_a_selector_reads_as_kubectl_writes_it(chosen: LabelSelector | None, text: str) -> None:
    assert selector_text(chosen) == text


# --- Which pods `-n`, `-l` and `--field-selector` choose, as the API server does ----------------------


def stored(name: str, namespace: str = "shop", labels: Any = None, **status: str) -> Pod:
    meta = {"name": name, "namespace": namespace, "labels": labels or {}}
    spec = {"nodeName": "a1"} if name == "placed" else {"hostNetwork": True}
    return msgspec.convert({"kind": "Pod", "metadata": meta, "spec": spec, "status": status}, Pod)


PODS = [
    stored("placed", labels={"app": "web", "tier": "front"}, phase="Running"),
    stored("waiting", labels={"app": "web"}, nominatedNodeName="b1"),
    stored("other", namespace="blog", labels={"app": "db"}, phase="Pending"),
]


@pytest.mark.parametrize(
    ("namespace", "selector", "fields", "expected"),
    [
        ("", "", "", "placed waiting other"),
        ("shop", "", "", "placed waiting"),
        ("", "app=web", "", "placed waiting"),
        ("", "app in (web,db),!tier", "", "waiting other"),
        ("blog", "app=web", "", ""),
        ("", "", "spec.nodeName=a1", "placed"),
        ("", "", "spec.nodeName==", "waiting other"),
        ("", "", "spec.nodeName!=a1,metadata.namespace=shop", "waiting"),
        ("", "", "status.phase=Pending", "waiting other"),
        ("", "", "status.nominatedNodeName=b1", "waiting"),
        ("", "", "spec.hostNetwork=false,spec.restartPolicy=Always,spec.schedulerName=default-scheduler", "placed"),
        ("", "", "metadata.name=other,", "other"),
        ("", "app", "metadata.name!=other", "placed waiting"),
    ],
)
def test_choice(namespace: str, selector: str, fields: str, expected: str) -> None:
    choice = pod_choice(namespace, selector, fields)
    assert [each.metadata.name for each in PODS if choice.matches(each)] == expected.split()


@pytest.mark.parametrize(
    ("selector", "fields", "message"),
    [
        ("a b", "", "'a b' is not a label selector"),
        ("", "spec.nodeName", "can't understand 'spec.nodeName'"),
        ("", "spec.nodename=a", "field label not supported: spec.nodename .did you mean spec.nodeName"),
        ("", "spec.containers=a", "field label not supported: spec.containers"),
    ],
)
def test_what_is_not_a_selector(selector: str, fields: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pod_choice("", selector, fields)
