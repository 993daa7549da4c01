"""Reading a DeschedulerPolicy."""

from __future__ import annotations

from pathlib import PurePath
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from kwhatif.descheduler.build import build_policy
from kwhatif.descheduler.decode import sorted_keys
from kwhatif.descheduler.policy import KIND, RunnablePolicy
from kwhatif.errors import InputError
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import FieldIgnored
from kwhatif.kube.model.cluster import Cluster
from kwhatif.sources.scheduler.config import read_config


class DeschedulerPolicyFile(NamedTuple):
    """A policy that the descheduler takes."""

    name: str
    policy: RunnablePolicy
    caveats: list[Caveat]


def read_descheduler_policy(path: str, cluster: Cluster, *, stdin: BinaryIO) -> DeschedulerPolicyFile:
    """Read a policy file, or "-", for a cluster whose priority classes it may name.

    Raises:
        InputError: the file cannot be read, or the descheduler refuses it; the message is its own.
    """
    file = read_config(path, stdin=stdin, kind=KIND, may_be_empty=True)
    data = file.data if file.text.lstrip().startswith(b"{") else sorted_keys(file.data)
    try:
        policy, caveats = build_policy(data, PurePath(file.name).name, cluster)
    except InputError as failure:
        raise file.located(failure) from None
    return DeschedulerPolicyFile(file.name, policy, [_located(caveat, file.name) for caveat in caveats])


def _located(caveat: Caveat, name: str) -> Caveat:
    """The caveat with the whole path of the file in the place of its name."""
    if isinstance(caveat, FieldIgnored):
        return replace(caveat, where=f"{name}: {caveat.where.partition(': ')[2]}")
    return caveat
