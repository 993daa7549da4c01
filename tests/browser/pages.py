"""The reports that are looked at in a browser, and pictured in the documentation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import kwhatif
from kwhatif.questions.session.session import Session
from kwhatif.report import Report

#: As a user would name it, without what stands above the project.
DEMO = Path(os.path.relpath(Path(__file__).parents[2] / "fixtures" / "demo"))
#: When the demo's dump was taken.
NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
FLAGS = {"ignore_daemonsets": True, "delete_emptydir_data": True}


@cache
def cluster(*more: str) -> Session:
    """The demo's cluster."""
    return kwhatif.load(DEMO / "cluster.yaml", *(DEMO / name for name in more), now=NOW)


def _pod(name: str) -> Path:
    return DEMO / "pods" / f"{name}.yaml"


_TYPES = DEMO / "instance-types.json"


@cache
def _karpenter(*more: str) -> Session:
    """The demo's cluster with Karpenter."""
    return kwhatif.load(DEMO / "karpenter.yaml", *(DEMO / name for name in more), now=NOW)


def _explained() -> Report:
    """All about the worst finding of an audit."""
    found = kwhatif.audit(cluster(), only="drain", jobs=1, fixes=0).audit
    assert found is not None
    return kwhatif.audit(cluster(), only="drain", jobs=1, explain=found.findings[0].id)


#: Name -> the report, and the cluster that was asked about.
PAGES: Mapping[str, Callable[[], tuple[Report, Session]]] = {
    "schedule": lambda: (kwhatif.schedule(cluster(), _pod("small")), cluster()),
    "preempt": lambda: (kwhatif.preempt(cluster(), _pod("checkout")), cluster()),
    "pods": lambda: (kwhatif.schedule(cluster(), DEMO / "pods"), cluster()),
    "gate": lambda: (kwhatif.gate(cluster(), DEMO / "pods", fixes=1), cluster()),
    "capacity": lambda: (kwhatif.capacity(cluster(), _pod("small")), cluster()),
    "drain": lambda: (kwhatif.drain(cluster(), "general-a1", **FLAGS), cluster()),  # type: ignore[arg-type]
    "each": lambda: (kwhatif.drain(cluster(), "*", each=True, jobs=1, **FLAGS), cluster()),  # type: ignore[arg-type]
    "deschedule": lambda: (kwhatif.deschedule(cluster(), DEMO / "descheduler.yaml", now=NOW), cluster()),
    "audit": lambda: (kwhatif.audit(cluster(), only="outage", jobs=1, fixes=0), cluster()),
    "explained": lambda: (_explained(), cluster()),
    "autoscale": lambda: (
        kwhatif.autoscale(_karpenter("karpenter-pending.yaml"), instance_types=_TYPES, now=NOW),
        _karpenter("karpenter-pending.yaml"),
    ),
    "consolidate": lambda: (kwhatif.consolidate(_karpenter(), instance_types=_TYPES, now=NOW), _karpenter()),
    "queue": lambda: (kwhatif.pending(cluster("pending.yaml")), cluster("pending.yaml")),
}


def write(name: str, folder: Path) -> tuple[Report, Path]:
    """The report, and its page in the folder."""
    report, session = PAGES[name]()
    page = folder / f"{name}.html"
    page.write_text(kwhatif.html(report, session), encoding="utf-8")
    return report, page
