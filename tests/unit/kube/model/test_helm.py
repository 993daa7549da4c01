"""What annotations make of an object of a chart."""

import pytest

from kwhatif.kube.model.helm import HelmHook, hook_of

HOOK, WEIGHT, POLICY = "helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"


def test_an_object_without_the_annotation_is_part_of_the_release() -> None:
    assert hook_of({WEIGHT: "1", "other": "x"}) is None


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("pre-install", "before"),
        (" Pre-Install , pre-upgrade", "before"),
        ("post-upgrade,test", "after"),
        # On an upgrade it runs after the rest, on an install before: the first is what can keep the rest from coming.
        ("post-upgrade,pre-install", "before"),
        ("test", None),
        ("test-success", None),
        ("pre-delete,post-delete", None),
        ("pre-rollback, post-rollback", None),
        # Helm skips an object with any event that it does not know.
        ("crd-install", None),
        ("pre-install,crd-install", None),
        ("test-failure", None),
        ("", None),
    ],
)
def test_when_it_runs(text: str, phase: str | None) -> None:
    hook = hook_of({HOOK: text})
    assert hook is not None
    assert hook.phase == phase


@pytest.mark.parametrize(
    ("text", "weight"), [("", 0), ("-5", -5), ("+3", 3), ("1.5", 0), ("ten", 0), (" 1", 0), ("1_0", 0)]
)
def test_a_weight_that_is_not_a_number_is_none(text: str, weight: int) -> None:
    assert hook_of({HOOK: "test", WEIGHT: text}) == HelmHook(("test",), weight)


@pytest.mark.parametrize(
    ("text", "replaces", "passes"),
    [
        (None, True, False),
        ("before-hook-creation", True, False),
        ("hook-succeeded", False, True),
        ("before-hook-creation, hook-succeeded", True, True),
        ("hook-failed", False, False),
        ("never", True, False),
    ],
)
def test_what_is_deleted_when(text: str | None, *, replaces: bool, passes: bool) -> None:
    hook = hook_of({HOOK: "pre-install", **({POLICY: text} if text is not None else {})})
    assert hook is not None
    assert (hook.replaces, hook.passes) == (replaces, passes)
