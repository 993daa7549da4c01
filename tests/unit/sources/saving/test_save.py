"""Saved snapshots: one file, whole or not at all, in the format of its name, with all that a report depends on."""

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

import kwhatif
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler, ServiceAccount
from kwhatif.kube.model.caveat.manifests import AdmissionNotAsked
from kwhatif.kube.model.policy import ValidatingWebhookConfiguration
from kwhatif.kube.model.workload import Namespace
from kwhatif.sources.saving import formats
from tests import dumps
from tests.cli.running import run

TIME = "2026-11-21T07:20:00Z"
PODS = sorted((dumps.DEMO.parent / "pods").glob("*.yaml"))
SUFFIXES = ("json", "yaml", "yml", "json.gz", "yaml.gz", "json.zst", "yaml.zst")


UNDATED = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
BESIDE = """
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 9}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: shop}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: b}
"""
#: The demo's dump was taken then.
NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    match path.suffix:
        case ".gz":
            return gzip.decompress(data)
        case ".zst":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def objects(path: Path) -> list[Any]:
    """What any other program reads there."""
    text = unpacked(path)
    return json.loads(text)["items"] if ".json" in path.name else list(yaml.load_all(text, yaml.CSafeLoader))


def report(*sources: Path) -> dict[str, Any]:
    made = json.loads(kwhatif.preempt(kwhatif.load(*sources, now=NOW), *PODS).to_json())
    del made["snapshot"]["sources"]
    return made


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_holds_the_same(tmp_path: Path, suffix: str) -> None:
    ran = [
        run(f"kwhatif snapshot save {tmp_path}/{name} --images --from {dumps.DEMO}")
        for name in ("a.json", f"b.{suffix}")
    ]
    assert [(one.code, one.stdout) for one in ran] == [(0, ""), (0, "")]
    assert ran[1].stderr == f"101 objects saved to {tmp_path}/b.{suffix}\n"
    assert objects(tmp_path / f"b.{suffix}") == objects(tmp_path / "a.json")
    assert report(tmp_path / f"b.{suffix}") == report(dumps.DEMO)


def test_the_same_snapshot_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        run(f"kwhatif snapshot save {tmp_path}/{name} --from {dumps.DEMO}")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


@pytest.mark.parametrize("name", ["dump", "dump.txt", "dump.gz", "dump.json.bz2"])
def test_a_name_that_asks_for_no_format_is_a_usage_error(tmp_path: Path, name: str) -> None:
    ran = run(f"kwhatif snapshot save {tmp_path}/{name} --from {dumps.DEMO}")
    assert (ran.code, ran.stdout) == (2, "")
    assert "must end in .json or .yaml, and perhaps .gz or .zst" in " ".join(ran.stderr.replace("│", "").split())
    assert not list(tmp_path.iterdir())


TEXTS = [
    "",
    "a",
    "yes",
    "No",
    "null",
    "~",
    "1e3",
    "0x1f",
    "1:30",
    "- a",
    "a: b",
    "a #b",
    "é\n\u2028",
    "\x7f\x85\ufeff",
    "😀",
    "'",
    '"',
    "=",
    "<<",
]


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_means_what_was_meant(text: str) -> None:
    """To a parser of YAML 1.1, which takes more words for something else than that of 1.2 does."""
    value = {"a": text, text or "key": [text, [], {}, [text], {"b": text}, 1, True, None]}
    written = b"".join(formats.format_of("x.yaml").encode([value]))
    assert yaml.safe_load(written) == value


class TestAtomic:
    def test_a_file_is_replaced_and_keeps_its_permissions(self, tmp_path: Path) -> None:
        path = tmp_path / "s.json"
        path.write_text("before")
        path.chmod(0o640)
        kwhatif.save_snapshot(path, dumps.DEMO)
        assert path.read_text() != "before"
        assert path.stat().st_mode & 0o777 == 0o640
        assert [each.name for each in tmp_path.iterdir()] == ["s.json"]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        link = tmp_path / "s.json"
        link.symlink_to(tmp_path / "there" / "real.json")
        kwhatif.save_snapshot(link, dumps.DEMO)
        assert link.is_symlink()
        assert (tmp_path / "there" / "real.json").stat().st_size > 1000

    @pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
    def test_what_fails_half_way_leaves_the_file_that_was_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
    ) -> None:
        def fail(_: int) -> None:
            raise failure

        path = tmp_path / "s.json"
        path.write_text("before")
        monkeypatch.setattr("os.fsync", fail)
        with pytest.raises((kwhatif.InputError, KeyboardInterrupt)) as said:
            kwhatif.save_snapshot(path, dumps.DEMO)
        assert path.read_text() == "before"
        assert [each.name for each in tmp_path.iterdir()] == ["s.json"]
        if isinstance(failure, OSError):
            assert str(said.value) == f"{path}: cannot be written: No space left on device"

    def test_a_place_that_cannot_be_written_is_bad_input(self, tmp_path: Path) -> None:
        ran = run(f"kwhatif snapshot save {tmp_path}/no/s.json --from {dumps.DEMO}")
        assert (ran.code, ran.stdout) == (3, "")
        assert f"{tmp_path}/no/s.json: cannot be written: No such file or directory" in ran.stderr
        (tmp_path / "s.json").mkdir()
        ran = run(f"kwhatif snapshot save {tmp_path}/s.json --from {dumps.DEMO}")
        assert "cannot be written: is not a regular file" in ran.stderr


class TestWhatWasKnown:
    """A report depends on more than objects."""

    @pytest.mark.parametrize("files", [dumps.cluster_info, dumps.support_bundle, dumps.must_gather])
    def test_of_another_tools_dump(self, tmp_path: Path, files: Any) -> None:
        dump = dumps.packed(tmp_path, "tar.gz", files())
        kwhatif.save_snapshot(tmp_path / "saved.json", dump, images=True)
        small = dumps.DEMO.parent / "pods" / "small.yaml"
        made = [
            json.loads(kwhatif.schedule(kwhatif.load(path, now=NOW), small).to_json())
            for path in (dump, tmp_path / "saved.json")
        ]
        for one in made:
            del one["snapshot"]["sources"]
            one["caveats"].sort()
        assert made[0] == made[1]
        assert kwhatif.describe(dump).unread == kwhatif.describe(tmp_path / "saved.json").unread

    def test_strictly_nothing_is_saved_where_something_is_missing(self, tmp_path: Path) -> None:
        dump = dumps.packed(tmp_path, "tar.gz", dumps.must_gather())
        ran = run(f"kwhatif snapshot save {tmp_path}/s.json --strict --from {dump}")
        assert (ran.code, ran.stdout) == (3, "")
        assert not (tmp_path / "s.json").exists()

    def test_names_in_what_was_said_are_renamed(self, tmp_path: Path) -> None:
        files = dumps.support_bundle() | {"b/cluster-resources/pods-errors.json": b'{"shop": "no"}'}
        dump = dumps.packed(tmp_path, "zip", files)
        kwhatif.save_snapshot(tmp_path / "saved.json", dump, anonymize=True)
        said = [caveat for caveat in kwhatif.describe(tmp_path / "saved.json").caveats if "are missing" in caveat]
        (sentence,) = said
        pattern = (
            r"a support bundle in which pods of namespace (\S+-ns) are missing: cluster-resources/pods-errors.json .*"
        )
        found = re.fullmatch(pattern, sentence)
        assert found is not None
        assert found[1] in kwhatif.load(tmp_path / "saved.json").cluster.all(Namespace)

    def test_the_moment_is_noted(self, tmp_path: Path) -> None:
        run(f"kwhatif snapshot save {tmp_path}/s.json --from {dumps.DEMO} --anonymize")
        (saved,) = kwhatif.describe(tmp_path / "s.json").saved
        assert (saved.taken_at, saved.anonymized) == ("2026-11-21T07:20:00Z", True)
        assert "saved 2026-11-21T07:20:00Z, anonymized" in run(f"kwhatif snapshot info {tmp_path}/s.json").stdout

    def test_a_dump_without_a_time_stays_one(self, tmp_path: Path) -> None:
        """How old it is stays unknown; and a simulation starts where that of the dump does."""
        for name in ("pods", "shop"):
            path = tmp_path / f"{name}.yaml"
            path.write_text(UNDATED.format(name=name))
            ran = run(f"kwhatif snapshot save {tmp_path}/{name}.json --from {path}")
            assert ran.code == 0
            assert kwhatif.load(tmp_path / f"{name}.json").age is None
            assert "does not show when it was taken" in run(f"kwhatif snapshot info {tmp_path}/{name}.json").stdout
        assert kwhatif.load(tmp_path / "pods.json", tmp_path / "shop.json").taken_at is None

    def test_the_newest_time_in_a_dump_is_not_the_time_at_which_it_was_read(self, tmp_path: Path) -> None:
        for name in ("a", "b"):  # the second one is a snapshot of a snapshot
            kwhatif.save_snapshot(tmp_path / f"{name}.json", tmp_path / "a.json" if name == "b" else dumps.DEMO)
        whole, *saved = (kwhatif.load(path) for path in (dumps.DEMO, tmp_path / "a.json", tmp_path / "b.json"))
        for one in saved:
            assert one.taken_at == whole.taken_at
            assert one.cluster.facts.taken_at == whole.cluster.facts.taken_at

    def test_objects_beside_those_that_scheduling_reads_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / "more.yaml").write_text(BESIDE)
        for name in ("plain", "anonymized"):
            source = (dumps.DEMO, tmp_path / "more.yaml")
            kwhatif.save_snapshot(tmp_path / f"{name}.json", *source, anonymize=name == "anonymized")
        whole = kwhatif.load(dumps.DEMO, tmp_path / "more.yaml")
        for name in ("plain", "anonymized"):
            again = kwhatif.load(tmp_path / f"{name}.json")
            for kind, count in ((HorizontalPodAutoscaler, 1), (ServiceAccount, 1), (ValidatingWebhookConfiguration, 2)):
                assert len(again.cluster.all(kind)) == len(whole.cluster.all(kind)) == count
            assert not any(isinstance(each, AdmissionNotAsked) for each in again.caveats)

    def test_a_snapshot_of_an_earlier_version_is_read(self) -> None:
        witness = dumps.DEMO.parents[1] / "dumps" / "anonymized.json.gz"
        found = kwhatif.describe(witness)
        assert (sum(found.kinds.values()), found.saved[0].anonymized, found.unread) == (101, True, {})
        assert kwhatif.load(witness).namespace == "default"
