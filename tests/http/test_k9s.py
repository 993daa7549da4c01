"""The plugins for k9s: each command as k9s makes it of what is selected."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests import ROOT
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import FakeAPI
from tests.objects import manifest

FILE = ROOT / "docs" / "examples" / "k9s-plugins.yaml"
PLUGINS = yaml.safe_load(FILE.read_text())["plugins"]
#: What is required of a plugin, by the schema that k9s reads its file with.
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["shortCut", "description", "scopes", "command"],
    "properties": {
        "shortCut": {"type": "string"},
        "description": {"type": "string"},
        "scopes": {"type": "array", "items": {"type": "string"}},
        "command": {"type": "string"},
        "background": {"type": "boolean"},
        "args": {"type": "array", "items": {"type": "string"}},
    },
}
SELECTED = {
    "pods": {"NAMESPACE": "shop", "NAME": "web-797b5c4998-g47sl"},
    "nodes": {"NAMESPACE": "-", "NAME": "general-a1"},
    "deployments": {"NAMESPACE": "shop", "NAME": "web"},
}
LABELS = {"app": "web"}
DEPLOYMENT = manifest(
    "Deployment",
    {"name": "web", "namespace": "shop", "uid": "u-web"},
    spec={
        "replicas": 0,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": "web"}]}},
    },
)
SAYS = {
    "advise": "nothing to advise, all fit",
    "threats": "Pod shop/web-797b5c4998-g47sl can be evicted by",
    "drain": "general-a1 cannot be drained: cannot delete daemonsets.apps",
    "outage": "general-a1 can fail safely",
    "capacity": "more pods of Deployment shop/web fit",
}


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
def test_a_key_asks_about_what_is_selected(
    plugin: Any, api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path
) -> None:
    jsonschema.validate(plugin, SCHEMA)
    api.change("/apis/apps/v1/deployments", DEPLOYMENT)
    (scope,) = plugin["scopes"]
    variables = SELECTED[scope] | {"CONTEXT": "demo"}
    # k9s replaces words behind a dollar sign, and knows no others than these.
    arguments = [re.sub(r"\$([\w|-]+)", lambda found: variables[found[1]], each) for each in plugin["args"]]
    pager = tmp_path / "less"
    pager.write_text("#!/bin/sh\ncat\n")
    pager.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [plugin["command"], *arguments],
        env=os.environ | {"PATH": path, "KUBECONFIG": kubeconfig(), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    )
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert SAYS[arguments[3]] in plain
    assert "error:" not in plain


def test_no_key_means_two_things() -> None:
    keys = [(scope, plugin["shortCut"]) for plugin in PLUGINS.values() for scope in plugin["scopes"]]
    assert len(keys) == len(set(keys))
