"""Which pods `-n`, `-l` and `--field-selector` choose, as the API server does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kwhatif.kube.matching.pods import pod_choice
from kwhatif.kube.model.pod import Pod


def pod(name: str, namespace: str = "shop", labels: Any = None, **status: str) -> Pod:
    meta = {"name": name, "namespace": namespace, "labels": labels or {}}
    spec = {"nodeName": "a1"} if name == "placed" else {"hostNetwork": True}
    return msgspec.convert({"kind": "Pod", "metadata": meta, "spec": spec, "status": status}, Pod)


PODS = [
    pod("placed", labels={"app": "web", "tier": "front"}, phase="Running"),
    pod("waiting", labels={"app": "web"}, nominatedNodeName="b1"),
    pod("other", namespace="blog", labels={"app": "db"}, phase="Pending"),
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
