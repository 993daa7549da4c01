"""Options that are refused together: by the library, and by a command before it reads the cluster."""

from __future__ import annotations

from typing import Literal, get_args

from kwhatif.api.options import OptionError

#: How updates are judged; see `kwhatif.gate`.
Rollout = Literal["end", "final", "surge"]
#: The largest target that nodes are added for: the cluster is filled again for each number of nodes.
MOST_WITH_NODES = 10_000


def check_judging(*, alone: bool, admission: bool, grows: bool) -> None:
    """Check that pods are judged together where an autoscaler adds nodes.

    Raises:
        OptionError: each is judged alone.
    """
    if grows and (alone or not admission):
        message = "an autoscaler adds nodes for all pods together: do not judge each of them alone"
        raise OptionError("--alone" if alone else "--no-admission", message)


def check_rollout(rollout: str, *, grows: bool) -> None:
    """Check how updates are judged.

    Raises:
        OptionError: there is no such way, or an autoscaler cannot add nodes in it.
    """
    if rollout not in get_args(Rollout):
        raise OptionError("--rollout", f"{rollout!r} is none of {', '.join(get_args(Rollout))}")
    if grows and rollout != "end":
        message = f"nodes that an autoscaler adds come in time, and {rollout!r} is about one moment"
        raise OptionError("--rollout", message)


def check_capacity(
    *,
    limit: int | None,
    target: int | None,
    with_preemption: bool,
    add_nodes_like: str | None,
    peak: bool,
    grows: bool,
) -> None:
    """Check how pods are counted.

    Raises:
        OptionError: two of the options contradict each other, or a number is too small or too large.
    """
    for option, number in (("--max", limit), ("--target", target)):
        if number is not None and number < 1:
            raise OptionError(option, "the number of pods to count is at least 1")
    if add_nodes_like is not None and target is None:
        raise OptionError("--add-nodes-like", "say with --target how many pods are to fit")
    if add_nodes_like is not None and (target or 0) > MOST_WITH_NODES:
        message = f"with --add-nodes-like at most {MOST_WITH_NODES:,}; --if 'add N nodes like NODE' asks about N nodes"
        raise OptionError("--target", message)
    if grows and (with_preemption or add_nodes_like is not None):
        message = "an autoscaler adds nodes only for pods that find none: neither evict for them nor add nodes"
        raise OptionError("--with-preemption" if with_preemption else "--add-nodes-like", message)
    if grows and peak:
        message = "an autoscaler adds nodes for more pods of one kind, not for the peak of all: ask for one"
        raise OptionError("--peak", message)


def check_autoscaler(autoscaler: str, node_groups: object, instance_types: object) -> None:
    """Check that the files belong to the autoscaler.

    Raises:
        OptionError: one belongs to the other autoscaler, or there is one for each.
    """
    if node_groups is not None and (autoscaler == "karpenter" or instance_types is not None):
        message = "it is about the Cluster Autoscaler: Karpenter's NodePools are in the cluster"
        raise OptionError("--node-groups", message)
    if instance_types is not None and autoscaler == "cluster-autoscaler":
        raise OptionError("--instance-types", "it is about Karpenter: give --node-groups")


def check_descheduler(policy: object, strategy: object) -> None:
    """Check that there is either a policy or a strategy.

    Raises:
        OptionError: there are both, or neither.
    """
    if (policy is None) == (strategy is None):
        raise OptionError("--policy", "give either --policy FILE or --strategy NAME")
