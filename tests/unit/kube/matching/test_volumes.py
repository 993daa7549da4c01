"""Claims, volumes and classes."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.kube.matching.volumes import (
    ClaimName,
    claim_class,
    claim_names,
    not_owner,
    volume_reaches,
    volumes_of_class,
)
from tests.builders import cluster, pod, requirement
from tests.storage import EPHEMERAL, claim, owned_by, reach, volume

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def test_claims_of_a_pod_in_the_order_of_its_volumes() -> None:
    asking = pod("web").volume("tmp", **EPHEMERAL).volume("plain").claim("data").build()
    assert list(claim_names(asking)) == [ClaimName("web-tmp", ephemeral=True), ClaimName("data")]


@pytest.mark.parametrize(
    ("storage_class", "annotations", "expected"),
    [
        pytest.param("fast", {}, "fast", id="spec"),
        pytest.param("fast", {BETA_CLASS: "slow"}, "slow", id="annotation"),
        pytest.param("fast", {BETA_CLASS: ""}, "", id="an empty annotation is no class"),
        pytest.param(None, {}, "", id="none"),
    ],
)
def test_class_of_a_claim(storage_class: str | None, annotations: dict[str, str], expected: str) -> None:
    assert claim_class(claim("c", storage_class, annotations=annotations)) == expected


@pytest.mark.parametrize(
    ("uid", "meta", "owned"),
    [
        pytest.param("1", owned_by("web", uid="1"), True, id="by UID"),
        pytest.param("1", owned_by("web", uid="2"), False, id="a pod of the same name, earlier or later"),
        pytest.param("1", owned_by("other", uid="1"), True, id="the name does not count"),
        pytest.param("1", owned_by("web", uid="1", controller=False), False, id="owned but not controlled"),
        pytest.param("1", {}, False, id="without owner"),
        pytest.param("", owned_by("web", uid="2"), True, id="a manifest without UID: by name"),
        pytest.param("", owned_by("db", uid="2"), False, id="a manifest without UID: another name"),
        pytest.param("", owned_by("web", uid="2", kind="Job"), False, id="a manifest without UID: another kind"),
    ],
)
def test_owner_of_an_ephemeral_claim(uid: str, meta: dict[str, Any], owned: bool) -> None:
    reason = not_owner(pod("web").meta(uid=uid).build(), claim("web-tmp", meta=meta))
    assert (reason == "") is owned
    if not owned:
        assert reason == "PVC default/web-tmp was not created for pod default/web (pod is not owner)"


def test_volumes_of_a_class_smallest_first_then_by_name_and_claimed_ones_apart() -> None:
    found = cluster(
        volume("c", size="1Gi"),
        volume("b", size="2Gi"),
        volume("a", size="2Gi"),
        volume("d", claim="data"),
        volume("x", "slow"),
    )
    volumes = volumes_of_class(found, "fast")
    assert [name for _, name in volumes.unclaimed] == ["c", "a", "b"]
    assert volumes.claimed == {("default", "data"): ["d"]}
    assert volumes_of_class(found, "gone").unclaimed == []


def test_a_volume_that_changes_is_compiled_anew() -> None:
    found = cluster(volume("a"))
    reaches = volume_reaches(found)
    assert reaches.of(volume("a")) is volume_reaches(found).of(volume("a"))
    found.add(volume("a", claim="data"))
    assert volume_reaches(found) is reaches
    found.add(volume("a", node_affinity=reach([requirement("zone", "In", "b")])))
    assert volume_reaches(found) is not reaches


def test_a_volume_that_is_given_away_is_found_as_it_is() -> None:
    """Reserve gives volumes away with every pod: that must not cost a new index."""
    found = cluster(volume("a", size="1Gi"), volume("b", size="2Gi"))
    before = volumes_of_class(found, "fast")
    found.add(volume("a", size="1Gi", claim="data"))
    assert volumes_of_class(found, "fast") is before
    found.add(volume("a", size="4Gi", claim="data"))
    assert [name for _, name in volumes_of_class(found, "fast").unclaimed] == ["b"]
