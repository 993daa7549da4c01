"""The examples for Prometheus, Grafana and the cluster say what is served, and ask for no more than is needed."""

import json
import re

import yaml

from kwhatif.api.metrics import Measured
from kwhatif.cli.about import cluster_role
from kwhatif.cli.metrics import families, state_families
from kwhatif.sources.decoding.kinds import ASKED
from tests import ROOT

EXAMPLES = ROOT / "docs" / "examples"
SERVED = {
    sample
    for family in (*families(Measured(blocked=(), losses=())), *state_families(0, 0, 0))
    for sample in (family.name, f"{family.name}_total" if family.type == "counter" else family.name)
}


def test_rules_and_panels_are_about_what_is_served() -> None:
    rules = yaml.safe_load((EXAMPLES / "alerts.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    asked = [rule["expr"] for rule in rules] + [target["expr"] for each in panels for target in each["targets"]]
    assert len(asked) == len(rules) + len(panels) + 1
    names = {name for expr in asked for name in re.findall(r"kwhatif_\w+", expr)}
    assert names - SERVED == set()
    assert SERVED - names <= {
        "kwhatif_nodes",
        "kwhatif_pods",
        "kwhatif_pods_pending",
        "kwhatif_pool_nodes",
        "kwhatif_node_drain_blocked",
        "kwhatif_watch_restarts",
    }


def test_the_manifest_has_the_role_and_nothing_more() -> None:
    objects = list(yaml.safe_load_all((EXAMPLES / "serve.yaml").read_text()))
    assert objects[0] == yaml.safe_load(cluster_role(ASKED, watch=True))
    assert [obj["kind"] for obj in objects] == ["ClusterRole", "ServiceAccount", "ClusterRoleBinding", "Deployment"]
    verbs = {verb for rule in objects[0]["rules"] for verb in rule["verbs"]}
    resources = {resource for rule in objects[0]["rules"] for resource in rule.get("resources", ())}
    assert verbs == {"get", "list", "watch"}
    assert not resources & {"secrets", "configmaps"}
