"""What an anonymized snapshot may keep: derived from the model, so that a new field is held to it, too."""

import io
import itertools
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from kwhatif.kube.model.bystanders import AUTOSCALER_STATUS, ConfigMap
from kwhatif.kube.model.meta import ApiObject
from kwhatif.sources.decoding.bystanders import BYSTANDERS
from kwhatif.sources.decoding.kinds import KINDS
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.anonymize import OrderedNames
from kwhatif.sources.saving.save import Moment, saved_objects
from kwhatif.sources.saving.words import why_kept
from tests.cli.running import run
from tests.examples import examples

SAVED = sorted({kind.type for kind in KINDS.values()} | BYSTANDERS.keys(), key=lambda kind: kind.__name__)
MARK = "zqx"


class Filled:
    """Objects in which every text is one of its own, and every list and map has an entry."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def of(self, type_: Any, depth: int = 0) -> Any:
        """A value of a type."""
        match type_:
            case inspect.StructType():
                fields = {
                    field.name: self.of(field.type, depth + 1)
                    for field in type_.fields
                    if depth < 12 and field.name not in ("text", "digest", "basic")
                }
                return type_.cls(**fields)
            case inspect.VarTupleType():
                return (self.of(type_.item_type, depth),)
            case inspect.DictType():
                return {f"{MARK}k{next(self._numbers)}": self.of(type_.value_type, depth)}
            case inspect.UnionType() if any(isinstance(each, inspect.IntType) for each in type_.types):
                return 1  # a number, or an amount
            case inspect.UnionType():
                return self.of(min(type_.types, key=lambda each: isinstance(each, inspect.NoneType)), depth)
            case inspect.StrType():
                return f"{MARK}{next(self._numbers)}"
            case inspect.IntType():
                return 1
            case inspect.BoolType():
                return True
        return None


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)
    elif isinstance(value, str):
        yield value


def kept_whole(kind: type[ApiObject]) -> ApiObject:
    made: ApiObject = Filled().of(inspect.type_info(kind))
    return made


@pytest.mark.parametrize(
    "kind", [kind for kind in SAVED if kind.__name__ != "SavedSnapshot"], ids=lambda kind: kind.__name__
)
def test_no_text_of_any_field_is_left(kind: type[ApiObject]) -> None:
    source = Collected()
    source.cluster.add(kept_whole(kind))
    saved = saved_objects(source, taken_at=Moment(""), images=True, anonymize=True)
    found = msgspec.to_builtins([obj for obj in saved.objects if type(obj) is kind])
    assert found
    assert [text for text in texts_of(found) if MARK in text] == []
    assert not any(MARK in each.text for each in saved.kept)


@pytest.mark.parametrize("kind", SAVED, ids=lambda kind: kind.__name__)
def test_every_kind_that_is_read_is_read_back(kind: type[ApiObject]) -> None:
    """A kind that joins the model is saved and read, too."""
    if kind.__name__ == "SavedSnapshot":
        return
    name = str(kind.__struct_config__.tag)
    group = BYSTANDERS.get(kind)
    version = f"{group}/v1".lstrip("/") if group is not None else min(KINDS[name].api_versions)
    namespace, name_of = AUTOSCALER_STATUS.split("/") if kind is ConfigMap else ("b", "a")  # of ConfigMaps the only one
    meta = {"name": name_of, "namespace": namespace} if group is not None or KINDS[name].namespaced else {"name": "a"}
    keys = (name_of, f"{namespace}/{name_of}")
    given = msgspec.json.encode({"apiVersion": version, "kind": name, "metadata": meta})
    source = collect_dump(["-"], stdin=io.BytesIO(given))
    (before,) = (obj for key, obj in source.cluster.all(kind).items() if key in keys)
    saved = saved_objects(source, taken_at=Moment(""), images=True, anonymize=False)
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": saved.objects})
    again = collect_dump(["-"], stdin=io.BytesIO(text)).cluster
    (after,) = (obj for key, obj in again.all(kind).items() if key in keys)
    assert msgspec.structs.replace(after, api_version="") == msgspec.structs.replace(before, api_version="")


WORDS = st.text("ab0-.z", min_size=1, max_size=6)


@settings(max_examples=examples(300))
@given(
    texts=st.sets(WORDS, max_size=12), kept=st.sets(st.sampled_from(["default", "kube-system", "a", "b-0", "5", "10"]))
)
def test_new_names_sort_as_the_old_ones(texts: set[str], kept: set[str]) -> None:
    named = texts - kept
    names = OrderedNames(dict.fromkeys(named, "-x"), kept, kept, {}, ())
    old = sorted(text for text in named | kept if text[0].isalnum())
    new = [names.of(text) for text in old]
    assert len(set(new)) == len(new)
    firsts = [text for text in old if not (kept and text < min(kept) and min(kept)[0] <= "0")]
    assert [names.of(text) for text in firsts] == sorted(names.of(text) for text in firsts)


def test_names_that_are_made_of_others_stay_so() -> None:
    texts = dict.fromkeys(["web", "web-api", "web-api-7f", "7f", "x-1", "webx"], "")
    names = OrderedNames(texts, {"1"}, {"1"}, {"x-1": ("x", "1")}, {"web", "web-api"})
    web, api, digest = (names.of(text) for text in ("web", "api", "7f"))
    assert names.of("web-api") == f"{web}-{api}"
    assert names.of("web-api-7f") == f"{web}-{api}-{digest}"
    assert names.of("x-1") == f"{names.of('x')}-1"
    assert sorted(texts) == sorted(texts, key=names.of)


def test_words_of_kubernetes_are_kept_and_large_numbers_are_not() -> None:
    assert all(map(why_kept, ["Running", "default", "ebs.csi.aws.com", "17", "2026-01-01T00:00:00Z"]))
    assert not any(map(why_kept, ["123456789012", "batch", "storage", "app", "shop", "v17"]))


def test_the_report_lists_what_is_kept(tmp_path: Any) -> None:
    saved = f"snapshot save {tmp_path}/s.json --from fixtures/demo/cluster.yaml"
    ran = run(f"kwhatif {saved} --anonymize --report")
    assert ran.code == 0
    assert "nvidia.com/gpu" in ran.stdout
    assert "public name" in ran.stdout
    assert "shop" not in ran.stdout
    assert run(f"kwhatif {saved} --report").code == 2


def test_a_text_that_is_longer_than_any_name_is_renamed_as_a_whole() -> None:
    text = "-".join(["x"] * 200_000)
    names = OrderedNames(dict.fromkeys([text, "x", "x-x"], ""), (), (), {}, {"x"})
    assert names.of("x-x") == "-".join([names.of("x")] * 2)
    assert "-" not in names.of(text)
