"""RemoveFailedPods (`framework/plugins/removefailedpods`)."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.descheduler.arguments import RemoveFailedPodsArgs
from kwhatif.descheduler.attempt import Failed
from kwhatif.descheduler.handle import Handle, chosen
from kwhatif.descheduler.pods import exit_codes, reasons
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.pod import Pod

_UINT = 2**64


def run(args: RemoveFailedPodsArgs, handle: Handle) -> str:
    """Evict (that is, delete) failed pods."""
    choose = chosen(args.namespaces, args.label_selector)
    least = args.min_pod_lifetime_seconds or 0
    for node in handle.nodes:
        found = [
            (pod, Failed(age=_age(pod, handle), min_age=least, reasons=tuple(dict.fromkeys(_reasons(pod, args)))))
            for pod in handle.world.pods(node.metadata.name)
            if pod.status.phase == "Failed"
            and choose(pod)
            and _age(pod, handle) % _UINT >= least
            and _is_wanted(pod, args)
            and handle.is_evictable(pod)
        ]
        if not handle.evict_each(found):
            break
    return ""


def _age(pod: Pod, handle: Handle) -> int:
    """Age in whole seconds. QUIRK: as an unsigned number, the negative age of a pod from the future is very large."""
    age = handle.world.age(pod.metadata.creation_timestamp)
    return age // SECOND if age >= 0 else -(-age // SECOND)


def _is_wanted(pod: Pod, args: RemoveFailedPodsArgs) -> bool:
    if any(owner.kind in args.exclude_owner_kinds for owner in pod.metadata.owner_references):
        return False
    if args.reasons and not _any_of(args.reasons, _reasons(pod, args)):
        return False
    return not args.exit_codes or _any_of(args.exit_codes, exit_codes(pod, init=args.including_init_containers))


def _any_of(wanted: Iterable[object], found: Iterable[object]) -> bool:
    return not frozenset(wanted).isdisjoint(found)


def _reasons(pod: Pod, args: RemoveFailedPodsArgs) -> list[str]:
    found = *reasons(pod, init=args.including_init_containers), pod.status.reason
    return [reason for reason in found if reason]
