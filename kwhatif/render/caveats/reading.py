"""What was read otherwise, or not at all, in words."""

from __future__ import annotations

from typing import assert_never

from kwhatif.kube.model.caveat import reading
from kwhatif.words.amounts import duration, plural, some


def sentence(caveat: reading.ReadingCaveat) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per kind of caveat, nothing else
    """What is left out, or was assumed."""
    match caveat:
        case reading.VersionNotRead(kind=kind, count=count):
            return f"{kind} left out, {plural(count, 'object')}: this version is not read"
        case reading.SomeNamespaces():
            return _some_namespaces(caveat)
        case reading.ObjectsTwice(dump=dump, count=count, example=example):
            return (
                f"{dump} that holds {count} objects more than once, with different contents, such as {example}: the"
                " first of each counts"
            )
        case reading.CollectionFailed():
            return _collection(caveat)
        case reading.SchedulerConfigLeftOut():
            return (
                "the scheduler configuration in a kube-scheduler-simulator export is not applied: give it as"
                " --scheduler-config"
            )
        case reading.RecordedChanges(count=count):
            return f"a kwokctl export with {count} recorded changes: the cluster is as it was before the first one"
        case reading.NoDates():
            return (
                "a kwokctl export has no dates: ages are wrong, as if it had been taken on 1 January 2000; which pod"
                " is the older one is right"
            )
        case reading.TwoMoments(resources=resources):
            return f"the list of {resources} took longer than the server keeps a state: it is as of two moments"
        case reading.Remembered(text=text):
            return text
        case reading.StaleSnapshot(taken_at=taken_at, age=age):
            return f"the cluster is as it was {duration(age)} ago, at {taken_at}: what has changed since is not known"
        case reading.UndatedSnapshot():
            return "when the dump was taken is not known, so it may be older than the policy allows"
        case reading.VersionNotDefault(kind=kind, version=version, count=count):
            return f"{kind} in {version}, {plural(count, 'object')}: served only by clusters that turn this version on"
        case reading.ScheduledMeanwhile(pods=pods):
            were = "was" if len(pods) == 1 else "were"
            return f"Events show that {some(pods)} {were} given a node after pods were listed: taken as pending"
    assert_never(caveat)


def _some_namespaces(caveat: reading.SomeNamespaces) -> str:
    if not caveat.count:
        return f"{caveat.dump} that was asked for some namespaces only: pods of others count nowhere"
    unless = f", unless it was taken with {caveat.unless}" if caveat.unless else ""
    return (
        f"{caveat.dump} holds the namespaces that it was asked for, here {caveat.count}: pods of others count"
        f" nowhere{unless}"
    )


def _collection(caveat: reading.CollectionFailed) -> str:
    count, first = caveat.namespaces, caveat.example
    where = f" of namespace {first}" if count == 1 else f" of {count} namespaces, such as {first}" if count else ""
    return f"{caveat.dump} in which {caveat.resources}{where} are missing: {caveat.file} says why"
