"""Reading a DeschedulerPolicy."""

from __future__ import annotations

from pathlib import PurePath
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from kwhatif.descheduler.build import RunnablePolicy, build_policy
from kwhatif.descheduler.decode import sorted_keys
from kwhatif.descheduler.policy import KIND
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import FieldIgnored
from kwhatif.kube.model.cluster import Cluster
from kwhatif.sources.decoding.config_file import ConfigFile, read_config
from kwhatif.sources.text.files import GivenText


class DeschedulerPolicyFile(NamedTuple):
    """A policy that the descheduler takes."""

    name: str
    policy: RunnablePolicy
    caveats: list[Caveat]


def read_descheduler_policy(path: str, cluster: Cluster, *, stdin: BinaryIO) -> DeschedulerPolicyFile:
    """Read a policy file, or "-", for a cluster whose priority classes it may name.

    A ConfigMap that holds one is taken for it: so it stands in the cluster where the descheduler is installed.

    Raises:
        InputError: the file cannot be read, or the descheduler refuses it; the message is its own.
    """
    file = _unwrapped(read_config(path, stdin=stdin, kind=KIND, may_be_empty=True), stdin)
    data = file.data if file.text.lstrip().startswith(b"{") else sorted_keys(file.data)
    try:
        policy, caveats = build_policy(data, PurePath(file.name).name, cluster)
    except InputError as failure:
        raise file.located(failure) from None
    return DeschedulerPolicyFile(file.name, policy, [_located(caveat, file.name) for caveat in caveats])


def _unwrapped(file: ConfigFile, stdin: BinaryIO) -> ConfigFile:
    """The policy in a ConfigMap; the file itself, where it is none.

    Raises:
        InputError: the ConfigMap holds no text, or several, or one that cannot be read.
    """
    if file.data.get("kind") != "ConfigMap" or file.data.get("apiVersion") != "v1":
        return file
    texts = file.data.get("data")
    found = texts if isinstance(texts, dict) else {}
    if len(found) != 1:
        message = f"a ConfigMap with one {KIND} is taken, and this one has {len(found)} keys"
        raise InputError([Problem(file.name, message, field="data", hint="see kubectl get configmap NAME -o jsonpath")])
    ((key, text),) = found.items()
    if not isinstance(text, str):
        raise InputError([Problem(file.name, f"expected the text of a {KIND}", field=f"data.{key}")])
    return read_config(GivenText(f"{file.name}: data.{key}", text.encode()), stdin=stdin, kind=KIND, may_be_empty=True)


def _located(caveat: Caveat, name: str) -> Caveat:
    """The caveat with the whole path of the file in the place of its name."""
    if isinstance(caveat, FieldIgnored):
        return replace(caveat, where=f"{name}: {caveat.where.partition(': ')[2]}")
    return caveat
