"""Every reader with every damage: an error that names the file and the place, exit 3, never a crash."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from kwhatif.errors import ExitCode
from tests.cli.running import Ran, run

NODE = """apiVersion: v1
kind: Node
metadata: {name: node}
spec: {}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: a, image: caf\u00e9}]
"""
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n# caf\u00e9\n"
POLICY = "apiVersion: kwhatif.dev/v1\nkind: Policy\n# caf\u00e9\n"
KUBECONFIG = "apiVersion: v1\nkind: Config\ncurrent-context: caf\u00e9\ncontexts: []\n"


def _pods_as_json(count: int = 1) -> str:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p0"}, "spec": {"nodeName": "café"}}
    item = json.dumps(pod, ensure_ascii=False, indent=1)
    items = ",\n".join(item.replace("p0", f"p{n}") for n in range(count))
    return f'{{\n"apiVersion": "v1",\n"kind": "List",\n"items": [\n{items}\n]\n}}'


def _tar(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def _zip(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


#: What a reader is given undamaged, the file's name, and the command that reads it.
READERS: dict[str, tuple[str, str, str]] = {
    "dump, YAML": (NODE + "---\n" + POD, "dump.yaml", "schedule {pod} --from {file}"),
    "dump, JSON": (_pods_as_json(), "dump.json", "schedule {pod} --from {file}"),
    "dump, large JSON": (_pods_as_json(12_000), "dump.json", "snapshot info {file}"),
    "snapshot info": (NODE + "---\n" + POD, "dump.yaml", "snapshot info {file}"),
    "folder of a tool": (_pods_as_json(), "dump/shop/pods.json", "snapshot info {folder}"),
    "schedule": (POD, "pod.yaml", "schedule {file} --from {node}"),
    "preempt": (POD, "pod.yaml", "preempt {file} --from {node}"),
    "gate": (POD, "pod.yaml", "gate {file} --from {node}"),
    "manifests, JSON": (_pods_as_json(), "pods.json", "gate {file} --from {node}"),
    "policy": (POLICY, "kwhatif.yaml", "gate {pod} --policy {file} --from {node}"),
    "scheduler configuration": (CONFIG, "config.yaml", "schedule {pod} --scheduler-config {file} --from {node}"),
    "kubeconfig": (KUBECONFIG, "kubeconfig", "schedule {pod} --kubeconfig {file}"),
}


def _latin(text: bytes) -> bytes:
    return text.decode().encode("latin-1")


def _cut_character(text: bytes) -> bytes:
    return text.replace(b"\xc3\xa9", b"\xc3")


def _overlong(text: bytes) -> bytes:
    return text.replace(b"\xc3\xa9", b"\xc0\xaf")


def _surrogate(text: bytes) -> bytes:
    return text.replace(b"\xc3\xa9", b"\xed\xa0\x80")


def _at_the_end(text: bytes) -> bytes:
    return text.rstrip() + b"\n\xff\xff"


TEXT_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "Latin-1": _latin,
    "half a character": _cut_character,
    "overlong": _overlong,
    "a surrogate": _surrogate,
    "at the end": _at_the_end,
}
PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "plain": ("", lambda data: data),
    "gzip": (".gz", gzip.compress),
    "xz": (".xz", lzma.compress),
    "bzip2": (".bz2", bz2.compress),
    "zstd": (".zst", zstandard.compress),
}


def ask(folder: Path, command: str, name: str, data: bytes) -> Ran:
    """Run the command on a file with that content."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    (folder / "sound").mkdir(exist_ok=True)
    for other, text in (("pod.yaml", POD), ("node.yaml", NODE)):
        (folder / "sound" / other).write_text(text, encoding="utf-8")
    if name.startswith("dump/"):  # kubectl cluster-info dump --output-directory
        (folder / "dump" / "nodes.json").write_text('{"kind": "NodeList", "apiVersion": "v1", "items": []}')
        (folder / "dump" / "shop" / "replication-controllers.json").write_text(
            '{"kind": "ReplicationControllerList", "apiVersion": "v1", "items": []}'
        )
    places = {
        "pod": folder / "sound/pod.yaml",
        "node": folder / "sound/node.yaml",
        "file": file,
        "folder": folder / "dump",
    }
    return run("kwhatif " + command.format(**places))


def place_of(name: str) -> str:
    """How messages name a file: one of a folder by the folder, and its path there."""
    return name.replace("dump/", "dump: ")


def assert_refused(ran: Ran, name: str) -> None:
    assert ran.code == ExitCode.BAD_INPUT, ran
    assert name in ran.stderr
    assert all(line.startswith("error: ") for line in ran.stderr.splitlines()), ran.stderr


@pytest.mark.parametrize("damage", TEXT_DAMAGES)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_not_utf_8_is_refused_with_its_place(reader: str, damage: str, tmp_path: Path) -> None:
    text, name, command = READERS[reader]
    data = TEXT_DAMAGES[damage](text.encode())
    ran = ask(tmp_path, command, name, data)
    assert_refused(ran, place_of(name))
    with pytest.raises(UnicodeDecodeError) as wrong:
        data.decode()
    line = data.count(b"\n", 0, wrong.value.start) + 1
    assert f"is not valid UTF-8: line {line}, " in ran.stderr


@pytest.mark.parametrize("packer", [name for name in PACKERS if name != "plain"])
@pytest.mark.parametrize("reader", [name for name in READERS if name != "kubeconfig"])
def test_the_same_where_it_is_compressed(reader: str, packer: str, tmp_path: Path) -> None:
    text, name, command = READERS[reader]
    suffix, pack = PACKERS[packer]
    kept = name if name.startswith("dump/") else name + suffix
    ran = ask(tmp_path, command, kept, pack(_latin(text.encode())))
    assert_refused(ran, place_of(kept))
    assert "is not valid UTF-8" in ran.stderr


def _cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def _without_end(data: bytes) -> bytes:
    return data[:-1]


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 0x55 for byte in data[middle : middle + 8]) + data[middle + 8 :]


def _header_only(data: bytes) -> bytes:
    return data[:10]


def _rubbish_behind(data: bytes) -> bytes:
    return data[:8] + b"\xff" * 64


STREAM_DAMAGES = {
    "cut": _cut,
    "the last byte": _without_end,
    "flipped": _flip,
    "its head": _header_only,
    "rubbish": _rubbish_behind,
}


@pytest.mark.parametrize("damage", STREAM_DAMAGES)
@pytest.mark.parametrize("packer", [name for name in PACKERS if name != "plain"])
@pytest.mark.parametrize("reader", [name for name in READERS if name not in ("kubeconfig", "dump, large JSON")])
def test_a_damaged_stream_is_refused(reader: str, packer: str, damage: str, tmp_path: Path) -> None:
    text, name, command = READERS[reader]
    _, pack = PACKERS[packer]
    assert_refused(ask(tmp_path, command, name, STREAM_DAMAGES[damage](pack(text.encode()))), place_of(name))


ARCHIVES: dict[str, Callable[[bytes], bytes]] = {
    "tar": lambda data: _tar("nodes.yaml", data),
    "tar.gz": lambda data: gzip.compress(_tar("nodes.yaml", data)),
    "tar.xz": lambda data: lzma.compress(_tar("nodes.yaml", data)),
    "tar.bz2": lambda data: bz2.compress(_tar("nodes.yaml", data)),
    "tar.zst": lambda data: zstandard.compress(_tar("nodes.yaml", data)),
    "zip": lambda data: _zip("nodes.yaml", data),
}


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("damage", TEXT_DAMAGES)
def test_what_is_not_utf_8_in_an_archive(archive: str, damage: str, tmp_path: Path) -> None:
    data = ARCHIVES[archive](TEXT_DAMAGES[damage](f"{NODE}---\n{POD}".encode()))
    ran = ask(tmp_path, "schedule {pod} --from {file}", f"dump.{archive}", data)
    assert_refused(ran, f"dump.{archive}: nodes.yaml")
    assert "is not valid UTF-8: line " in ran.stderr


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("damage", STREAM_DAMAGES)
def test_a_damaged_archive_is_refused(archive: str, damage: str, tmp_path: Path) -> None:
    if archive == "tar" and damage in ("the last byte", "flipped"):
        pytest.skip("nothing in a tar file says that its content is damaged, and it ends with more zeros than it must")
    data = STREAM_DAMAGES[damage](ARCHIVES[archive](NODE.encode() + b"# padding\n" * 4000))
    assert_refused(ask(tmp_path, "schedule {pod} --from {file}", f"dump.{archive}", data), f"dump.{archive}")


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("packer", [name for name in PACKERS if name != "plain"])
@pytest.mark.parametrize("damage", STREAM_DAMAGES)
def test_a_damaged_file_in_an_archive(archive: str, packer: str, damage: str, tmp_path: Path) -> None:
    file = STREAM_DAMAGES[damage](PACKERS[packer][1](NODE.encode()))
    data = ARCHIVES[archive](file)
    assert_refused(
        ask(tmp_path, "schedule {pod} --from {file}", f"dump.{archive}", data), f"dump.{archive}: nodes.yaml"
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", ["NUL", "a picture", "lone surrogates"])
def test_what_is_no_text_at_all(reader: str, damage: str, tmp_path: Path) -> None:
    text, name, command = READERS[reader]
    data = {
        "NUL": text.encode() + b"\n\0\n",
        "a picture": b"\x89PNG\r\n\x1a\n" + bytes(64),
        "lone surrogates": b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\\ud800", "\\ud800": 1, "\\ud800": 2}}',
    }[damage]
    assert_refused(ask(tmp_path, command, name, data), place_of(name))


MARKED = {"UTF-8": "utf-8-sig", "UTF-16, little": "utf-16-le", "UTF-16, big": "utf-16-be"}


@pytest.mark.parametrize("encoding", MARKED)
@pytest.mark.parametrize(
    "reader", ["dump, YAML", "dump, JSON", "schedule", "gate", "manifests, JSON", "policy", "scheduler configuration"]
)
def test_a_byte_order_mark_is_read_over(reader: str, encoding: str, tmp_path: Path) -> None:
    text, name, command = READERS[reader]
    mark = "" if encoding == "UTF-8" else "\ufeff"
    ran = ask(tmp_path, command, name, (mark + text).encode(MARKED[encoding]))
    assert ran.code in (ExitCode.OK, ExitCode.ANSWERED_NO), ran.stderr
    assert (ran.code, ran.stdout) == ask(tmp_path, command, name, text.encode())[:2]
    cut = ask(tmp_path, command, name, (mark + text).encode(MARKED[encoding])[:-1] + b"\xff\xff")
    assert_refused(cut, name)


_DEEP = "[" * 600 + "]" * 600


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("schedule pod.yaml --from node.yaml --edits deep.json", f'[{{"cordon": {_DEEP}}}]'),
        (
            "simulate --from node.yaml --scenario deep.json",
            f'{{"apiVersion": "kwhatif.dev/v1", "kind": "Scenario", "steps": [{{"cordon": {_DEEP}}}]}}',
        ),
        ("gate pod.yaml --from node.yaml --policy deep.json", f'{{"fail": {_DEEP}}}'),
        ("schedule pod.yaml --from node.yaml --scheduler-config deep.json", f'{{"profiles": {_DEEP}}}'),
        ("deschedule --from node.yaml --policy deep.json", f'{{"profiles": {_DEEP}}}'),
    ],
    ids=["edits", "scenario", "policy", "scheduler configuration", "descheduler policy"],
)
def test_data_that_is_nested_as_only_json_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, content: str
) -> None:
    """Deeper than what looks at it may call itself, but not as deep as the JSON parser may."""
    monkeypatch.chdir(tmp_path)
    Path("node.yaml").write_text(NODE)
    Path("pod.yaml").write_text(POD)
    Path("deep.json").write_text(content)
    ran = run(f"kwhatif {command}")
    assert ran.code == ExitCode.BAD_INPUT
    assert ran.stderr.startswith("error: deep.json")
    assert "is nested too deeply" in ran.stderr


@pytest.mark.parametrize("edit", ["patch node/node '{}'", "set node/node metadata.labels={}", "apply {}"])
def test_a_text_that_is_nested_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node.yaml").write_text(NODE)
    Path("edits.json").write_text(json.dumps([edit.replace("{}", "[" * 100_000)]))
    ran = run("kwhatif queue --from node.yaml --edits edits.json")
    assert ran.code == ExitCode.BAD_INPUT
    assert ran.stderr.startswith("error: edits.json, edit 1 ") or "apply" in edit


def test_an_object_that_is_refused_and_says_what_was_applied_is_an_error_with_its_place(tmp_path: Path) -> None:
    noted = '{"kubectl.kubernetes.io/last-applied-configuration": "{\\"spec\\":{}}"}'
    text = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": NOTED}, "spec": {"containers": 7}}'
    (tmp_path / "pod.json").write_text(text.replace("NOTED", noted))
    ran = run(f"kwhatif simulate --from {tmp_path / 'pod.json'}")
    assert (ran.code, ran.stdout) == (3, "")
    assert "pod.json" in ran.stderr
    assert "containers" in ran.stderr
