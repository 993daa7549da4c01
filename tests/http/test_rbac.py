"""The role that `kwhatif rbac` prints allows what is asked of a live cluster, and nothing else."""

from urllib.parse import urlsplit

import yaml

import kwhatif
from tests import ROOT
from tests.cli.running import run
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import FakeAPI


def test_the_role_is_what_is_asked_for(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    kwhatif.load_live(kubeconfig=kubeconfig())
    asked = {permission(method, urlsplit(path).path) for method, path, _ in api.requests}
    role = yaml.safe_load(run("kwhatif rbac").stdout)
    assert (role["apiVersion"], role["kind"]) == ("rbac.authorization.k8s.io/v1", "ClusterRole")
    allowed = [
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", ["nonResourceURL"])
        for resource in rule.get("resources") or rule["nonResourceURLs"]
    ]
    assert len(allowed) == len(set(allowed))
    assert set(allowed) == asked


def permission(method: str, path: str) -> tuple[str, str, str]:
    """Verb, API group and resource, as the API server's authorizer sees the request."""
    assert method == "GET"
    match path.strip("/").split("/"):
        case ["api", "v1", resource]:
            return "list", "", resource
        case ["apis", group, _, resource]:
            return "list", group, resource
    return "get", "nonResourceURL", path


def test_the_documentation_ships_the_role() -> None:
    assert run("kwhatif rbac").stdout in (ROOT / "docs" / "live.md").read_text()
