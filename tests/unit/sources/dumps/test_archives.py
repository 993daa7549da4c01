"""Archives from anywhere: read without unpacking, or refused with the reason."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import kwhatif
from kwhatif.kube.model.pod import Pod
from kwhatif.sources.dumps import dump, foreign, trees
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.sources.text import inflate
from tests import dumps
from tests.cli.running import run

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
SMALL = {"nodes.yaml": NODE}
TRUST = "(if you trust it, unpack it yourself)"


@pytest.fixture(autouse=True)
def _small_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "_MAX_SMALL", 1 << 20)


def problems(path: Path) -> list[str]:
    with pytest.raises(kwhatif.InputError) as failure:
        kwhatif.load(path)
    return [str(problem).removeprefix(f"{path}") for problem in failure.value.problems]


def tar_of(*entries: tarfile.TarInfo, content: bytes = b"") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for entry in entries:
            entry.size = len(content) if entry.isreg() else 0
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def entry(name: str, type_: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = type_, target
    return made


def zip_of(name: str, content: bytes = NODE, mode: int = 0, **changes: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        made = zipfile.ZipInfo(name)
        made.external_attr = mode << 16
        archive.writestr(made, content, zipfile.ZIP_DEFLATED)
        for field, value in changes.items():
            setattr(made, field, value)
    return packed.getvalue()


def encrypted() -> bytes:
    """A zip whose entry says that it is encrypted, in both of its headers."""
    made = bytearray(zip_of("nodes.yaml"))
    made[6] |= 1
    made[made.index(b"PK\x01\x02") + 8] |= 1
    return bytes(made)


def damaged() -> bytes:
    """A tar in which the header of the second file is broken."""
    made = bytearray(dumps.tar(SMALL | {"pods.yaml": NODE}))
    made[1024 + 10] ^= 0xFF
    return bytes(made)


def corrupt() -> bytes:
    """A zip with other contents than it says."""
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("nodes.yaml", NODE)
    return stored.getvalue().replace(b"n1", b"n2")


def links_in_chain() -> bytes:
    """More headers about the next header than Python can nest."""
    packed = io.BytesIO()
    for _ in range(20_000):
        head = tarfile.TarInfo("././@LongLink")
        head.type, head.size = tarfile.GNUTYPE_LONGNAME, 5
        packed.write(head.tobuf(tarfile.GNU_FORMAT) + b"name\0".ljust(512, b"\0"))
    return gzip.compress(packed.getvalue() + dumps.tar(SMALL))


REFUSED: dict[str, tuple[str, bytes | Callable[[], bytes], str]] = {
    "a path upwards": (
        "d.tar",
        tar_of(entry("a/../../etc/nodes.yaml"), content=NODE),
        ": holds a path that leads out of it, and was not read: a/../../etc/nodes.yaml",
    ),
    "an absolute path": (
        "d.tar.gz",
        gzip.compress(tar_of(entry("/etc/nodes.yaml"), content=NODE)),
        ": holds a path that leads out of it, and was not read: /etc/nodes.yaml",
    ),
    "a path upwards in a zip": (
        "d.zip",
        zip_of("../nodes.yaml"),
        ": holds a path that leads out of it, and was not read: ../nodes.yaml",
    ),
    "a path of Windows": (
        "d.zip",
        zip_of("C:/nodes.yaml"),
        ": holds a path that leads out of it, and was not read: C:/nodes.yaml",
    ),
    "a path upwards in Windows' way": (
        "d.tar",
        tar_of(entry("a\\..\\..\\nodes.yaml")),
        ": holds a path that leads out of it, and was not read: a\\..\\..\\nodes.yaml",
    ),
    "a link": (
        "d.tar",
        tar_of(entry("nodes.yaml", tarfile.SYMTYPE, "/etc/passwd")),
        ": nodes.yaml: is a link, which is not followed",
    ),
    "a hard link": (
        "d.tar",
        tar_of(entry("nodes.yaml", tarfile.LNKTYPE, "/etc/passwd")),
        ": nodes.yaml: is a link, which is not followed",
    ),
    "a link in a zip": (
        "d.zip",
        zip_of("nodes.yaml", b"/etc/passwd", 0o120777),
        ": nodes.yaml: is a link, which is not followed",
    ),
    "a device": (
        "d.tar",
        tar_of(entry("nodes.yaml", tarfile.CHRTYPE)),
        ": nodes.yaml: is not a file, but a device, a pipe or a socket",
    ),
    "a pipe": (
        "d.tar",
        tar_of(entry("nodes.yaml", tarfile.FIFOTYPE)),
        ": nodes.yaml: is not a file, but a device, a pipe or a socket",
    ),
    "a sparse file": (
        "d.tar",
        tar_of(entry("nodes.yaml", tarfile.GNUTYPE_SPARSE)),
        ": nodes.yaml: is a sparse file, which may be larger than any disk",
    ),
    "a bomb": (
        "d.tar.gz",
        lambda: gzip.compress(dumps.tar({"a.bin": bytes(2 << 20)}), 1),
        f": inflates to a suspicious size, and was not read {TRUST}",
    ),
    "a bomb in xz": (
        "d.tar.xz",
        lambda: lzma.compress(dumps.tar({"a.bin": bytes(2 << 20)}), preset=0),
        f": inflates to a suspicious size, and was not read {TRUST}",
    ),
    "a bomb in bzip2": (
        "d.tar.bz2",
        lambda: bz2.compress(dumps.tar({"a.bin": bytes(2 << 20)}), 9),
        f": inflates to a suspicious size, and was not read {TRUST}",
    ),
    "a path upwards in xz": (
        "d.tar.xz",
        lzma.compress(tar_of(entry("a/../../etc/nodes.yaml"), content=NODE)),
        ": holds a path that leads out of it, and was not read: a/../../etc/nodes.yaml",
    ),
    "a link in bzip2": (
        "d.tar.bz2",
        bz2.compress(tar_of(entry("nodes.yaml", tarfile.SYMTYPE, "/etc/passwd"))),
        ": nodes.yaml: is a link, which is not followed",
    ),
    "a bomb in a zip": (
        "d.zip",
        lambda: zip_of("nodes.yaml", bytes(2 << 20)),
        f": nodes.yaml inflates to a suspicious size, and was not read {TRUST}",
    ),
    "a bomb within": (
        "d.tar",
        lambda: dumps.tar({"nodes.yaml.gz": gzip.compress(bytes(2 << 20))}),
        f": nodes.yaml.gz: inflates to a suspicious size, and was not read {TRUST}",
    ),
    "a tar that was cut off": ("d.tar", dumps.tar(SMALL)[:1500], ": is not a whole archive: the end is missing"),
    "a tar that was cut off in its compression": (
        "d.tgz",
        gzip.compress(dumps.tar(SMALL))[:-20],
        ": is not a whole gzip file: the end is missing",
    ),
    "a tar that was cut off in zstd": (
        "d.tar.zst",
        lambda: zstandard.compress(dumps.tar(dumps.cluster_info()))[:-20],
        ": is not a whole zstd file: the end is missing",
    ),
    "a tar that was cut off in xz": (
        "d.tar.xz",
        lambda: lzma.compress(dumps.tar(dumps.cluster_info()))[:-2000],
        ": is not a whole xz file: the end is missing",
    ),
    "a tar that was cut off in bzip2": (
        "d.tar.bz2",
        lambda: bz2.compress(dumps.tar(dumps.cluster_info()))[:-20],
        ": is not a whole bzip2 file: the end is missing",
    ),
    "a zip that was cut off": ("d.zip", zip_of("nodes.yaml")[:-30], ": is not a valid archive: File is not a zip file"),
    "a tar that is damaged": ("d.tar", damaged, ": is not a valid archive: bad checksum"),
    "a tar that is damaged, compressed": (
        "d.tar.gz",
        lambda: gzip.compress(damaged()),
        ": is not a valid archive: bad checksum",
    ),
    "a zip that is damaged": (
        "d.zip",
        corrupt,
        ": is not a valid archive: Bad CRC-32 for file 'nodes.yaml'",
    ),
    "an encrypted zip": ("d.zip", encrypted, ": nodes.yaml: is encrypted"),
    "headers without end": (
        "d.tar.gz",
        links_in_chain,
        ": is not a valid archive: maximum recursion depth exceeded",
    ),
    "no tar": ("d.tar.gz", b"hello", ": is not a whole archive: the end is missing"),
    "no tar, compressed": ("d.tar.gz", gzip.compress(b"hello" * 200), ": is not a valid archive: invalid header"),
    "no zip": ("d.zip", b"hello", ": is not a valid archive: File is not a zip file"),
    "nothing": ("d.tar.gz", b"", ": is not a valid archive: empty file"),
    "nothing, compressed": ("d.tar.gz", gzip.compress(b""), ": is not a valid archive: empty file"),
    "an empty tar": ("d.tar", dumps.tar({}), ": is an archive without files"),
    "an empty zip": ("d.zip", dumps.zip_({}), ": is an archive without files"),
    "an archive of other things": ("d.zip", dumps.zip_({"a.txt": b"x"}), ": holds no Kubernetes objects"),
    "a file that is no text": (
        "d.zip",
        dumps.zip_({"n.yaml": b"\0"}),
        ": n.yaml: is a binary file, neither YAML nor JSON",
    ),
    "a file with a mistake": (
        "d.zip",
        dumps.zip_({"n.yaml": NODE.replace(b"n1", b"[]")}),
        ": n.yaml, document 1, line 3 (Node): metadata.name: expected a string, got a list",
    ),
}


@pytest.mark.parametrize(("name", "content", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes | Callable[[], bytes], said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content())
    (problem,) = problems(path)
    assert problem.startswith(said)


#: On standard input there is no name to tell that these were meant to be archives.
NO_ARCHIVE = {"no tar", "no tar, compressed", "no zip", "nothing", "nothing, compressed", "an empty tar"}


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in NO_ARCHIVE])
def test_the_same_is_refused_on_standard_input(name: str) -> None:
    _, content, said = REFUSED[name]
    with pytest.raises(kwhatif.InputError) as failure:
        read_cluster(["-"], stdin=io.BytesIO(content if isinstance(content, bytes) else content()))
    (problem,) = map(str, failure.value.problems)
    assert problem.startswith(f"standard input{said}")


@pytest.mark.parametrize("suffix", dumps.PACKERS)
def test_cut_anywhere_it_is_refused_or_whole(tmp_path: Path, suffix: str) -> None:
    """Never a part of the cluster."""
    path = dumps.packed(tmp_path, suffix, dumps.cluster_info())
    whole = path.read_bytes()
    for part in range(1, 12):
        path.write_bytes(whole[: len(whole) * part // 12])
        with pytest.raises(kwhatif.InputError):
            kwhatif.load(path)


def test_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_FILES", 3)
    for suffix in dumps.PACKERS:
        path = dumps.packed(tmp_path, suffix, {f"{number}.txt": b"" for number in range(4)})
        assert problems(path) == [f": holds more than 3 files, and was not read {TRUST}"]
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.txt").touch()
    assert problems(folder) == [": holds more than 3 files, and was not read (name a smaller folder)"]


def test_text_is_counted_however_it_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MAX_TEXT", 3 * len(NODE))
    many = {f"{number}.yaml.gz": gzip.compress(NODE) for number in range(4)}
    assert problems(dumps.packed(tmp_path, "zip", many)) == [
        f": 3.yaml.gz inflates to a suspicious size, and was not read {TRUST}"
    ]


@pytest.mark.parametrize("suffix", dumps.PACKERS)
def test_what_is_wanted_is_counted_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(inflate, "_MAX_SMALL", 100)
    monkeypatch.setattr(inflate, "MAX_TEXT", 3 * len(NODE))
    path = dumps.packed(tmp_path, suffix, {f"{number}.yaml": NODE for number in range(4)})
    assert problems(path) == [f": 3.yaml inflates to a suspicious size, and was not read {TRUST}"]


def test_links_and_devices_that_nobody_wants_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "d.tar"
    path.write_bytes(
        tar_of(
            entry("nodes.yaml"),
            entry("current.log", tarfile.SYMTYPE, "../../../etc/passwd"),
            entry("dev/null", tarfile.CHRTYPE),
            entry("folder", tarfile.DIRTYPE),
            content=NODE,
        )
    )
    assert list(kwhatif.load(path).state.by_name) == ["n1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_folder_with_links_and_pipes(tmp_path: Path) -> None:
    folder = dumps.as_folder(tmp_path / "dump", dumps.cluster_info())
    (folder / "shop" / "pods.json").unlink()
    (folder / "shop" / "pods.json").symlink_to(folder / "nodes.json")
    (folder / "ml" / "pods.json").unlink()
    os.mkfifo(folder / "ml" / "pods.json")
    assert problems(folder) == [
        ": ml/pods.json: is not a file, but a device, a pipe or a socket",
        ": shop/pods.json: is a link, which is not followed",
    ]


def test_an_archive_is_known_by_how_it_begins(tmp_path: Path) -> None:
    for number, pack in enumerate(dumps.PACKERS.values()):
        path = tmp_path / f"upload-{number}"
        path.write_bytes(pack(dumps.cluster_info()))
        assert len(kwhatif.load(path).cluster.all(Pod)) == 49


@pytest.mark.parametrize("suffix", dumps.PACKERS)
def test_an_archive_may_be_piped_in(tmp_path: Path, suffix: str) -> None:
    path = dumps.packed(tmp_path, suffix, dumps.cluster_info())
    piped = read_cluster(["-"], stdin=io.BytesIO(path.read_bytes()))
    assert piped.cluster.all(Pod) == read_cluster([str(path)], stdin=io.BytesIO()).cluster.all(Pod)
    assert (piped.sources, len(piped.cluster.all(Pod))) == (["standard input"], 49)


def test_what_is_piped_in_is_read_once() -> None:
    with pytest.raises(kwhatif.InputError) as failure:
        read_cluster(["-", "-"], stdin=io.BytesIO(dumps.tar(SMALL)))
    assert str(failure.value) == "standard input: is named more than once (it can be read only once)"


def test_what_is_piped_in_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "MAX_TEXT", 1 << 20)
    endless = io.BufferedReader(_Endless())  # type: ignore[type-var] # it has what reading needs
    with pytest.raises(kwhatif.InputError) as failure:
        read_cluster(["-"], stdin=endless)
    assert str(failure.value) == "standard input: is more than 1,048,576 bytes (save it to a file, and name that)"


class _Endless(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        return len(buffer)


def test_a_tgz_may_be_a_single_file(tmp_path: Path) -> None:
    path = tmp_path / "export.tgz"
    path.write_bytes(gzip.compress(NODE))
    assert list(kwhatif.load(path).state.by_name) == ["n1"]


def test_a_glob_matches_archives(tmp_path: Path) -> None:
    for name in ("a", "b"):
        path = tmp_path / f"{name}.tar.gz"
        path.write_bytes(gzip.compress(dumps.tar({"n.yaml": NODE.replace(b"n1", name.encode())})))
    assert [node.name for node in kwhatif.load(tmp_path / "*.tar.gz").state.nodes] == ["a", "b"]


def test_an_archive_of_plain_files_is_read_as_a_folder_of_them_would_be(tmp_path: Path) -> None:
    files = {"a/nodes.yaml": NODE, "b/.hidden.yaml": b"{", ".git/x.json": b"{", "README.md": b"# x", "c.yaml.gz": b""}
    files["c.yaml.gz"] = gzip.compress(NODE.replace(b"n1", b"n2"))
    for suffix in ("folder", *dumps.PACKERS):
        session = kwhatif.load(dumps.packed(tmp_path, suffix, files))
        assert [node.name for node in session.state.nodes] == ["n1", "n2"]
        assert not session.cluster.facts.unread


class TestCommandLine:
    POD = dumps.DEMO.parent / "pods" / "small.yaml"

    @pytest.mark.parametrize(
        "name", ["a path upwards", "a bomb in a zip", "a bomb in xz", "a device", "an encrypted zip", "nothing"]
    )
    def test_what_is_refused_is_bad_input(self, tmp_path: Path, name: str) -> None:
        file, content, said = REFUSED[name]
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content())
        ran = run(f"kwhatif schedule {self.POD} --from {path}")
        assert (ran.code, ran.stdout) == (3, "")
        assert f"{path}{said}" in ran.stderr

    def test_caveats_of_a_dump_can_be_made_errors(self, tmp_path: Path) -> None:
        path = dumps.packed(tmp_path, "tar.gz", dumps.must_gather())
        assert run(f"kwhatif schedule {self.POD} --from {path}").code == 0
        ran = run(f"kwhatif schedule {self.POD} --from {path} --strict")
        assert (ran.code, ran.stdout) == (3, "")
        assert f"{path}: a must-gather holds the namespaces that it was asked for" in ran.stderr

    def test_every_problem_of_every_dump_is_reported_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(b"no zip")
        (tmp_path / "b.json").write_bytes(b"{")
        ran = run(f"kwhatif schedule {self.POD} --from {tmp_path}/a.zip --from {tmp_path}/b.json --from {tmp_path}/c")
        assert ran.code == 3
        assert all(f"{tmp_path}/{name}: " in ran.stderr for name in ("a.zip", "b.json", "c"))


def lying(size: int, type_: bytes = tarfile.REGTYPE, pax: dict[str, str] | None = None) -> bytes:
    """A tar whose first header claims that size, whatever follows."""
    made = entry("a.yaml", type_)
    made.size = 0 if pax else size
    made.pax_headers = pax or {}
    head = made.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)
    return head + NODE + b"\0" * (4 * 512 - len(NODE))


LIES = {
    "more than any disk": lying(1 << 62),
    "less than nothing": lying(-1024),
    "more than any disk, in a header before it": lying(0, pax={"size": "99999999999999999999"}),
    "less than nothing, in a header before it": lying(0, pax={"size": "-99999999999999999999"}),
    "a link with a size": lying(1 << 62, tarfile.SYMTYPE),
    "a name that is longer than any": lying(1 << 40, tarfile.GNUTYPE_LONGNAME),
    "what is said of the next file takes too much room": lying(1 << 22, tarfile.XHDTYPE),
}


@pytest.mark.parametrize("packed", LIES.values(), ids=LIES.keys())
@pytest.mark.parametrize("squeeze", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_header_that_lies_about_its_size_is_refused(
    tmp_path: Path, packed: bytes, squeeze: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "dump.tar"
    path.write_bytes(squeeze(packed))
    (said,) = problems(path)
    assert "is not a valid archive: " in said
    assert " claims a size of " in said
