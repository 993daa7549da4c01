"""How a configuration's plugin sets lie over the default ones, and unfold over the extension points."""

import pytest

from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.configuration.build import (
    defaults,
    expand,
    merge_defaults,
    plugin_sets,
    repeated,
    replacements,
    weights,
    with_enabled,
    with_replaced,
)
from kwhatif.scheduler.configuration.schema import PluginRef, Plugins, PluginSet
from kwhatif.scheduler.framework.profile import Point

P = Point
STANDARD = {
    "A": Entry("A", (P.FILTER,)),
    "B": Entry("B", (P.FILTER, P.SCORE), weight=2),
    "C": Entry("C", (P.SCORE,)),
}


def refs(text: str) -> tuple[PluginRef, ...]:
    """`"A B:3"` -> A, and B with weight 3."""
    return tuple(
        PluginRef(name=name, weight=int(weight or 0)) for name, _, weight in (w.partition(":") for w in text.split())
    )


def shown(found: object) -> str:
    return " ".join(ref.name + (f":{ref.weight}" if ref.weight else "") for ref in found)  # type: ignore[attr-defined]


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    return PluginSet(enabled=refs(enabled), disabled=refs(disabled))


MERGED = {
    "nothing said": ("", "", "A:1 B:2 C:1"),
    "a default that is named again keeps its place and takes the weight": ("B:7", "", "A:1 B:7 C:1"),
    "a default that is named again without weight loses it": ("B", "", "A:1 B C:1"),
    "a disabled default is dropped": ("", "B", "A:1 C:1"),
    "disabled and enabled again, it goes to the end": ("B:5", "B", "A:1 C:1 B:5"),
    "all defaults dropped": ("C A", "*", "C A"),
    "another plugin is appended": ("X:4", "", "A:1 B:2 C:1 X:4"),
    "a default that is named twice": ("B:7 B:8", "", "A:1 B:8 C:1 B:7"),
    "another that is named twice": ("X X:2", "", "A:1 B:2 C:1 X X:2"),
    "an unknown name among the disabled does nothing": ("", "Y", "A:1 B:2 C:1"),
}


@pytest.mark.parametrize(("enabled", "disabled", "expected"), MERGED.values(), ids=MERGED.keys())
def test_merge_defaults(enabled: str, disabled: str, expected: str) -> None:
    assert shown(merge_defaults(defaults(STANDARD, {}), plugin_set(enabled, disabled))) == expected


EXPANDED = {
    "those of multiPoint that have the point": (P.FILTER, "", "", "A B", "A B"),
    "a plugin listed here that is there as well comes first": (P.SCORE, "C", "", "B C", "C B"),
    "one that is only here comes last": (P.SCORE, "B", "", "C", "C B"),
    "first those of both, then multiPoint, then the rest": (P.SCORE, "X C", "", "B C", "C B X"),
    "disabled at this point": (P.FILTER, "", "A", "A B", "B"),
    "disabled and enabled here": (P.FILTER, "A", "A", "A B", "B A"),
    "all disabled here: only what is enabled here": (P.FILTER, "B", "*", "A B", "B"),
    "an unknown plugin is passed over": (P.FILTER, "", "", "Y A", "A"),
}


@pytest.mark.parametrize(
    ("point", "enabled", "disabled", "multi_point", "expected"), EXPANDED.values(), ids=EXPANDED.keys()
)
def test_expand(point: Point, enabled: str, disabled: str, multi_point: str, expected: str) -> None:
    assert shown(expand(point, plugin_set(enabled, disabled), refs(multi_point), STANDARD)) == expected


def test_a_weight_at_score_counts_before_one_at_multi_point_and_none_is_one() -> None:
    assert weights(refs("A:5 B"), refs("A:2 B:2 C:3 D")) == {"A": 5, "B": 1, "C": 3, "D": 1}


def test_repeated_names_are_found_with_their_places() -> None:
    assert list(repeated(refs("A B A A"))) == [(2, "A"), (3, "A")]


# --- plugins of your own ------------------------------------------------------------------------------

OWN = STANDARD | {
    "Own": Entry("Own", (P.FILTER,), weight=4, default=False),
    "NewB": Entry("NewB", (P.SCORE,), weight=9, default=False, replaces="B"),
}


def multi_point(enabled: str = "", disabled: str = "", *, own: tuple[str, ...], score: str = "") -> str:
    sets = plugin_sets(Plugins(multi_point=plugin_set(enabled, disabled), score=plugin_set(score)))
    replaced = replacements(sets, OWN, own)
    sets = with_enabled(with_replaced(sets, OWN, replaced), OWN, own)
    return shown(merge_defaults(defaults(OWN, replaced), sets[None]))


ENABLED = {
    "it is appended with its weight": (("Own",), "", "", "A:1 B:2 C:1 Own:4"),
    "even where all defaults are disabled": (("Own",), "", "*", "Own:4"),
    "a configuration that gives it a weight has the last word": (("Own",), "Own:8", "", "A:1 B:2 C:1 Own:8"),
    "so has one that disables it": (("Own",), "", "Own", "A:1 B:2 C:1"),
    "one that replaces another takes its place": (("NewB",), "", "", "A:1 NewB:9 C:1"),
    "a weight for the replaced one is for it": (("NewB",), "B:6", "", "A:1 NewB:6 C:1"),
    "where the replaced one is disabled, it is": (("NewB",), "", "B", "A:1 C:1"),
    "it replaces also when only the configuration enables it": ((), "NewB:3", "", "A:1 NewB:3 C:1"),
    "it replaces nothing where it is not enabled": ((), "", "", "A:1 B:2 C:1"),
}


@pytest.mark.parametrize(("own", "enabled", "disabled", "expected"), ENABLED.values(), ids=ENABLED.keys())
def test_plugins_of_your_own(own: tuple[str, ...], enabled: str, disabled: str, expected: str) -> None:
    assert multi_point(enabled, disabled, own=own) == expected


def test_a_plugin_that_only_one_point_enables_replaces_everywhere() -> None:
    assert multi_point(own=(), score="NewB") == "A:1 NewB:9 C:1"


def test_the_replaced_plugin_is_not_listed_where_its_successor_has_nothing_to_do() -> None:
    sets = plugin_sets(Plugins(filter=plugin_set("B A"), score=plugin_set("B:3")))
    replaced = with_replaced(sets, OWN, {"B": "NewB"})
    assert (shown(replaced[P.FILTER].enabled), shown(replaced[P.SCORE].enabled)) == ("A", "NewB:3")
