"""Caveats about reading: what was read differently from how it is in the cluster, or not at all."""

from __future__ import annotations

from kwhatif.kube.model.caveat.base import BaseCaveat, IncompleteCaveat


class VersionNotRead(IncompleteCaveat, tag="version-not-read", kw_only=True):
    """Objects of an API version that is not supported were left out."""

    kind: str
    count: int


class VersionNotDefault(IncompleteCaveat, tag="version-not-default", kw_only=True):
    """Objects of an API version that API servers serve only if it is enabled."""

    kind: str
    version: str
    count: int


class SomeNamespaces(IncompleteCaveat, tag="some-namespaces", kw_only=True):
    """A dump holds only some namespaces: pods of the others are not counted on any node."""

    dump: str
    #: 0: not known.
    count: int = 0
    #: The option with which the tool would have dumped all namespaces.
    unless: str = ""


class ObjectsTwice(IncompleteCaveat, tag="objects-twice", kw_only=True):
    """A dump holds objects more than once, with different contents: the first one counts."""

    dump: str
    count: int
    example: str


class CollectionFailed(IncompleteCaveat, tag="collection-failed", kw_only=True):
    """The tool that made the dump reports that it could not read a kind, in these `namespaces` or the whole cluster."""

    dump: str
    resources: str
    file: str
    namespaces: int = 0
    example: str = ""


class SchedulerConfigLeftOut(IncompleteCaveat, tag="scheduler-config-left-out", kw_only=True):
    """The scheduler configuration in an export is not applied."""


class RecordedChanges(IncompleteCaveat, tag="recorded-changes", kw_only=True):
    """An export has recorded changes: the answer is about the cluster before the first one."""

    count: int


class NoDates(BaseCaveat, tag="no-dates", kw_only=True):
    """An export has no dates, only times relative to each other: ages are wrong."""


class TwoMoments(BaseCaveat, tag="two-moments", kw_only=True):
    """A list was read from the live cluster at two different resource versions."""

    resources: str


class ScheduledMeanwhile(BaseCaveat, tag="scheduled-meanwhile"):
    """Events show that pods were scheduled after the pods were listed: they count as pending."""

    pods: tuple[str, ...]


class Remembered(BaseCaveat, tag="remembered", kw_only=True):
    """A caveat that another version of kwhatif saved with a snapshot, in its words."""

    text: str


class StaleSnapshot(BaseCaveat, tag="stale-snapshot", kw_only=True):
    """The cluster was read more than an hour ago, or longer ago than the policy allows."""

    warns = True
    taken_at: str
    #: In seconds.
    age: int


class UndatedSnapshot(IncompleteCaveat, tag="undated-snapshot", kw_only=True):
    """The policy bounds the age of what was read, and when the dump was taken is not known."""


ReadingCaveat = (
    VersionNotRead
    | VersionNotDefault
    | SomeNamespaces
    | ObjectsTwice
    | CollectionFailed
    | SchedulerConfigLeftOut
    | RecordedChanges
    | NoDates
    | TwoMoments
    | ScheduledMeanwhile
    | Remembered
    | StaleSnapshot
    | UndatedSnapshot
)
