"""The reports that are looked at in a browser, and pictured in the documentation."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import kwhatif
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from tests import FIXTURES

#: As a user would name it, without what stands above the project.
DEMO = Path(os.path.relpath(FIXTURES / "demo"))
GANGS = DEMO.parent / "gangs" / "demo"
#: When the demo's dump was taken.
NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
ZONE = "topology.kubernetes.io/zone"
API_POD = "pod/shop/api-64f75d757d-472td"
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


@cache
def _gangs() -> Session:
    """A cluster with racks, whose scheduler places groups of pods by them."""
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    return kwhatif.load(GANGS / "cluster.yaml", kubernetes_version="1.37", feature_gates=gates)


@cache
def _at(day: str) -> Session:
    return kwhatif.load(DEMO.parent / "compare" / f"{day}.yaml", now=NOW)


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
    "simulate": lambda: (kwhatif.simulate(cluster(), _pod("checkout")), cluster()),
    "zones": lambda: (kwhatif.outage(cluster(), each=ZONE, jobs=1), cluster()),
    "advise": lambda: (kwhatif.advise(cluster(), _pod("impossible")), cluster()),
    "upgrade": lambda: (kwhatif.upgrade(cluster("pending.yaml"), to="1.35"), cluster("pending.yaml")),
    "threats": lambda: (kwhatif.threats(cluster(), "deploy/shop/api"), cluster()),
    "who-fits": lambda: (kwhatif.who_fits(cluster("pending.yaml"), "general-a1"), cluster("pending.yaml")),
    "resize": lambda: (kwhatif.resize(cluster(), API_POD, requests={"cpu": "3"}), cluster()),
    "compare": lambda: (kwhatif.compare_clusters(_at("monday"), _at("tuesday")), _at("tuesday")),
    "gang": lambda: (kwhatif.schedule(_gangs(), GANGS / "train.yaml"), _gangs()),
    "gangs": lambda: (kwhatif.capacity(_gangs(), GANGS / "train.yaml"), _gangs()),
}


def write(name: str, folder: Path) -> tuple[Report, Path]:
    """The report, and its page in the folder."""
    report, session = PAGES[name]()
    page = folder / f"{name}.html"
    page.write_text(kwhatif.html(report, session), encoding="utf-8")
    return report, page
