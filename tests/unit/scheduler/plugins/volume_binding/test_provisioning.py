"""Why a claim is not bound: as evidence, and for the volume controller."""

import pytest
from msgspec.structs import replace

from kwhatif.controllers.claims import binding_of
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.render.sentences import sentence
from kwhatif.scheduler.plugins.volume_binding.provisioning import why_unbound
from tests.storage import claim, storage_class, volume

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
CLASSES = (
    replace(storage_class(), metadata=AnnotatedMeta(name="fast", annotations=DEFAULT)),
    storage_class("now", mode="Immediate"),
    storage_class("local", mode="Immediate", provisioner="kubernetes.io/no-provisioner"),
)


def named(name: str = "pv", **changes: object) -> PersistentVolumeClaim:
    return claim("data", volume=name, bound=False, **changes)  # type: ignore[arg-type]


def of(made: PersistentVolumeClaim, **spec: object) -> PersistentVolumeClaim:
    return replace(made, spec=replace(made.spec, **spec))


@pytest.mark.parametrize(
    ("data", "volumes", "expected"),
    [
        (named(), [], "has class fast (the default), and names PersistentVolume pv, which is not there"),
        (
            named(),
            [volume("pv", "")],
            "has class fast (the default), and names PersistentVolume pv, which has no class",
        ),
        (
            named(storage_class=""),
            [volume("pv", "slow")],
            "has no class, and names PersistentVolume pv, which has class slow",
        ),
        (
            named(size="2Gi"),
            [volume("pv")],
            "has class fast (the default), and names PersistentVolume pv, which has 1Gi of 2Gi",
        ),
        (
            named(modes=("ReadWriteMany",)),
            [volume("pv", "slow")],
            "has class fast (the default), and names PersistentVolume pv, which has class slow and has ReadWriteOnce, not"
            " ReadWriteMany",
        ),
        (
            of(named(), volume_mode="Block"),
            [volume("pv")],
            "has class fast (the default), and names PersistentVolume pv, which has volumeMode Filesystem, not Block",
        ),
        (
            named(),
            [volume("pv", claim="other")],
            "has class fast (the default), and names PersistentVolume pv, which belongs to claim default/other",
        ),
        (
            named(),
            [volume("pv")],
            "has class fast (the default), and names PersistentVolume pv, which is not bound yet",
        ),
        (claim("data", "gone"), [], "has class gone, which is not there, and no PersistentVolume is free"),
        (claim("data", "now"), [], "has class now, whose provisioner csi.example.com has made no volume for it yet"),
        (
            claim("data", "local"),
            [volume("pv", claim="other")],
            "has class local, and no PersistentVolume is free",
        ),
        (
            claim("data", "local", "5Gi"),
            [volume("small", "local"), volume("large", "local", "3Gi"), volume("other", "fast", "9Gi")],
            "has class local, the nearest is PersistentVolume large, which has 3Gi of 5Gi",
        ),
        (claim("data", ""), [volume("pv")], "has no class, the nearest is PersistentVolume pv, which has class fast"),
        (
            of(claim("data", "local"), selector=LabelSelector(match_labels={"disk": "ssd"})),
            [volume("pv", "local")],
            "has class local, the nearest is PersistentVolume pv, which does not match disk=ssd",
        ),
        (
            claim("data", "local"),
            [volume("pv", "local", phase="Released")],
            "has class local, the nearest is PersistentVolume pv, which is Released",
        ),
    ],
)
def test_evidence(data: PersistentVolumeClaim, volumes: list[PersistentVolume], expected: str) -> None:
    found = why_unbound(data, Cluster([*CLASSES, *volumes, data]))
    assert sentence(found) == f"claim default/data {expected}"


@pytest.mark.parametrize(
    ("data", "offered", "bound"),
    [
        # A claim that names its volume waits for no pod, whatever its class says.
        (named(), volume("pv"), True),
        (named(storage_class=""), volume("pv", ""), True),
        (named(), volume("pv", ""), False),
        (named(size="2Gi"), volume("pv"), False),
        (named(modes=("ReadWriteMany",)), volume("pv"), False),
        (of(named(), volume_mode="Block"), volume("pv"), False),
        # What a volume that is meant for the claim lacks does not count.
        (named(size="2Gi"), volume("pv", claim="data"), True),
        (named(), volume("pv", claim="other"), False),
        (named("another"), volume("pv"), False),
        (claim("data"), volume("pv"), False),
    ],
)
def test_a_claim_gets_the_volume_that_it_names_if_that_will_do(
    data: PersistentVolumeClaim, offered: PersistentVolume, *, bound: bool
) -> None:
    made = binding_of(data, Cluster([*CLASSES, offered, data]))
    assert (made.volume is not None) is bound
    assert (made.claim.status.phase == "Bound") is bound
