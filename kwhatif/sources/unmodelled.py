"""What manifests hold or name that no rule reads, as caveats: autoscalers, service accounts, unknown kinds."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.model.caveat import (
    AutoscalerNotModelled,
    Caveat,
    NotBuilt,
    ServiceAccountsNotChecked,
    UnjudgedKind,
)
from kwhatif.sources.kinds import group_of
from kwhatif.sources.outline import Outline

_AUTOSCALER = "HorizontalPodAutoscaler"
_SERVICE_ACCOUNT = "ServiceAccount"
#: Made by the API server in every namespace.
_DEFAULT_ACCOUNT = "default"
#: Where pods and what makes them name their service account.
_POD_SPECS = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)


class Unmodelled:
    """Looks at every object of the manifests; `caveats` once all have been seen."""

    def __init__(self, default_namespace: str) -> None:
        self._namespace = default_namespace
        self._autoscalers: list[Outline] = []
        #: `Kind namespace/name` of everything that is there.
        self._names: set[str] = set()
        #: Service accounts that pods name, `namespace/name`.
        self._accounts: dict[str, None] = {}

    def see(self, outline: Outline) -> None:
        """Take note of an object."""
        namespace = self._namespace_of(outline)
        self._names.add(f"{outline.kind} {namespace}/{outline.metadata.get('name')}")
        if outline.kind == _AUTOSCALER:
            self._autoscalers.append(outline)
        for path in _POD_SPECS:
            account = outline.at((*path, "serviceAccountName")) or outline.at((*path, "serviceAccount"))
            if isinstance(account, str) and account not in ("", _DEFAULT_ACCOUNT):
                self._accounts[f"{namespace}/{account}"] = None

    def caveats(self) -> Iterator[Caveat]:
        """What is to be said about it."""
        yield from map(self._autoscaler, self._autoscalers)
        unknown = tuple(name for name in self._accounts if f"{_SERVICE_ACCOUNT} {name}" not in self._names)
        if unknown:
            yield ServiceAccountsNotChecked(names=unknown)

    def _autoscaler(self, outline: Outline) -> Caveat:
        kind, name = (outline.at(("spec", "scaleTargetRef", field)) for field in ("kind", "name"))
        target = f"{kind} {self._namespace_of(outline)}/{name}" if kind and name else ""
        return AutoscalerNotModelled(
            name=outline.name.removeprefix(f"{_AUTOSCALER} "),
            target=target,
            min_replicas=_number(outline.at(("spec", "minReplicas"))),
            max_replicas=_number(outline.at(("spec", "maxReplicas"))),
            missing=target in self._names,
        )

    def _namespace_of(self, outline: Outline) -> str:
        return str(outline.metadata.get("namespace") or self._namespace)


def unjudged(outline: Outline) -> Iterator[Caveat]:
    """About an object of a kind that is not known: what of it would have to be judged."""
    if outline.kind == "Kustomization" and group_of(outline.version) == "kustomize.config.k8s.io":
        yield NotBuilt(file=outline.place.origin.source)
    elif isinstance(outline.at(("spec", "template", "spec", "containers")), list):
        yield UnjudgedKind(object=outline.name, kind=outline.kind)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
