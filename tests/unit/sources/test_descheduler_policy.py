"""A policy of the descheduler as it stands in a file, and in the ConfigMap of an installed one."""

import io
import json
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.kube.model.cluster import Cluster
from kwhatif.sources.descheduler_policy import read_descheduler_policy
from kwhatif.sources.text.files import GivenText

POLICY = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: DefaultEvictor
  - name: RemoveDuplicates
  plugins:
    balance:
      enabled: [RemoveDuplicates]
"""


def read(text: str) -> Any:
    return read_descheduler_policy(GivenText("d.yaml", text.encode()), Cluster(), stdin=io.BytesIO())


def config_map(**data: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}, "data": data})


def test_a_config_map_stands_for_the_policy_in_it() -> None:
    plain, wrapped = read(POLICY), read(config_map(**{"policy.yaml": POLICY}))
    assert [each.name for each in wrapped.policy.profiles] == [each.name for each in plain.policy.profiles] == ["p"]
    assert wrapped.name == "d.yaml: data.policy.yaml"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "d.yaml: data: a ConfigMap with one DeschedulerPolicy is taken, and this one has 0 keys"),
        ({"a": POLICY, "b": POLICY}, "d.yaml: data: a ConfigMap with one DeschedulerPolicy is taken"),
        ({"a": 3}, "d.yaml: data.a: expected the text of a DeschedulerPolicy"),
        ({"a": "- 3"}, "d.yaml: data.a: expected a DeschedulerPolicy, which is an object"),
        ({"a": POLICY.replace("- name: RemoveDup", "- name: RemoveD")}, "d.yaml: data.a, line 7: profiles[0]"),
    ],
)
def test_what_is_wrong_with_it_is_said_with_its_place(data: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(config_map(**data))
    assert said in str(caught.value)
