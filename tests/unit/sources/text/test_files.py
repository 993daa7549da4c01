import bz2
import gzip
import io
import lzma
import os
import random
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from kwhatif.errors import InputError
from kwhatif.sources.text import files, inflate
from kwhatif.sources.text.files import find_inputs, read_inputs
from kwhatif.sources.text.problems import Problems


def read(*paths: object, stdin: bytes = b"") -> tuple[list[tuple[str, bytes]], list[str]]:
    """What was read, and what was wrong."""
    problems = Problems()
    found = list(read_inputs(find_inputs([str(path) for path in paths], io.BytesIO(stdin), problems), problems))
    try:
        problems.raise_if_any()
    except InputError as wrong:
        return found, [str(problem) for problem in wrong.problems]
    return found, []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.yml", "sub/c.json", "sub/d.yaml.gz", "notes.txt", ".hidden.yaml", ".git/e.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(b"zipped") if name.endswith(".gz") else name.encode())
    return tmp_path


def test_a_directory_is_read_recursively_in_order_without_hidden_files(tree: Path) -> None:
    found, problems = read(tree)
    assert [(str(Path(name).relative_to(tree)), text) for name, text in found] == [
        ("a.yml", b"a.yml"),
        ("b.yaml", b"b.yaml"),
        ("sub/c.json", b"sub/c.json"),
        ("sub/d.yaml.gz", b"zipped"),
    ]
    assert problems == []


def test_a_glob_matches_files_and_directories(tree: Path) -> None:
    found, _ = read(tree / "*.y*ml", tree / "s*")
    assert [Path(name).name for name, _ in found] == ["a.yml", "b.yaml", "c.json", "d.yaml.gz"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*/c.json", ["link/c.json", "sub/c.json"]),
        ("**/*.json", ["sub/c.json"]),
        ("**/**/[b-d].*", ["b.yaml", "sub/c.json", "sub/d.yaml.gz"]),
        ("s*/../b*", ["sub/../b.yaml"]),
        (".h*", [".hidden.yaml"]),
        (".g*/*", [".git/e.yaml"]),
        ("sub/**", ["sub/c.json", "sub/d.yaml.gz"]),
        ("./[a]*", ["./a.yml"]),
        ("s*//c*", ["sub/c.json"]),
        ("b.yaml/*", []),
    ],
)
def test_the_patterns_of_a_glob(tree: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, expected: list[str]) -> None:
    (tree / "link").symlink_to("sub")
    monkeypatch.chdir(tree)
    found, problems = read(pattern)
    assert [name for name, _ in found] == expected
    assert problems == ([] if found else [f"{pattern}: matches no file"])
    assert [name for name, _ in read(f"{tree}/{pattern}")[0]] == [f"{tree}/{name}" for name in expected]


@pytest.mark.parametrize("pattern", ["", "*", "**", "**/*.yaml", "*/*", "*/../*"])
def test_a_search_among_too_many_files_is_given_up(tree: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 5)
    found, problems = read(tree / "b.yaml", f"{tree}/{pattern}")
    assert [Path(name).name for name, _ in found] == ["b.yaml"]
    assert problems == [
        f"{tree}/{pattern}: has more than 100,000 files and folders to look through (name a smaller folder)"
    ]


def test_a_file_may_have_any_name(tree: Path) -> None:
    assert read(tree / "notes.txt") == ([(str(tree / "notes.txt"), b"notes.txt")], [])


def test_standard_input_is_read_once() -> None:
    found, problems = read("-", "-", stdin=b"text")
    assert found == [("standard input", b"text")]
    assert problems == ["standard input: is named more than once (it can be read only once)"]


def test_gzip_is_known_by_its_first_bytes_and_may_have_members(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert read(tmp_path / "dump")[0] == [(str(tmp_path / "dump"), b"one two")]


def test_zstd_is_known_by_its_first_bytes_and_may_have_frames(tmp_path: Path) -> None:
    large = random.Random(1).randbytes(100_000).hex().encode()
    (tmp_path / "dump").write_bytes(zstandard.compress(b"one ") + zstandard.compress(large))
    assert read(tmp_path / "dump")[0] == [(str(tmp_path / "dump"), b"one " + large)]


@pytest.mark.parametrize("compress", [lzma.compress, bz2.compress], ids=["xz", "bzip2"])
@pytest.mark.parametrize("padding", [b"", bytes(8)], ids=["", "zeros behind"])
def test_so_are_xz_and_bzip2_and_may_have_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes], padding: bytes
) -> None:
    monkeypatch.setattr(inflate, "_CHUNK", 1000)
    large = random.Random(1).randbytes(20_000).hex().encode()
    (tmp_path / "dump").write_bytes(compress(b"one ") + padding + compress(large) + compress(b"") + padding)
    assert read(tmp_path / "dump")[0] == [(str(tmp_path / "dump"), b"one " + large)]


@pytest.mark.parametrize(("module", "compress"), [("lzma", lzma.compress), ("bz2", bz2.compress)])
def test_a_python_without_the_library_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, compress: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "a.yaml").write_bytes(compress(b"text"))
    monkeypatch.setitem(sys.modules, module, None)
    _, (problem,) = read(tmp_path / "a.yaml")
    assert "which this Python was built without (unpack it yourself)" in problem


def greedy() -> bytes:
    """An xz file that asks for a dictionary of 4 GiB."""
    made = bytearray(lzma.compress(b"text"))
    start, end = 12, 12 + (made[12] + 1) * 4 - 4
    made[made.index(b"\x21\x01", start, end) + 2] = 40
    made[end : end + 4] = zlib.crc32(made[start:end]).to_bytes(4, "little")
    return bytes(made)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_dropped(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.yaml").write_bytes("kind: é".encode(encoding))
    assert read(tmp_path / "a.yaml")[0] == [(str(tmp_path / "a.yaml"), "kind: é".encode())]


def bomb() -> bytes:
    return gzip.compress(b"\0" * (2 << 20))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"\x00\x01binary", "is a binary file, neither YAML nor JSON", id="binary"),
        pytest.param(gzip.compress(b"a" * 1000)[:20], "is not a whole gzip file: the end is missing", id="cut gzip"),
        pytest.param(
            b"\x1f\x8bnot",
            "is not a valid gzip file: Error -3 while decompressing data: unknown compression method",
            id="no gzip",
        ),
        pytest.param(b"\xff\xfea\x00b", "is not valid UTF-16: truncated data at offset 4", id="cut UTF-16"),
        pytest.param(
            bomb(),
            "inflates to a suspicious size, and was not read (if you trust it, unpack it yourself)",
            id="a bomb",
        ),
        pytest.param(
            zstandard.compress(b"a" * (2 << 20)),
            "inflates to a suspicious size, and was not read (if you trust it, unpack it yourself)",
            id="a bomb in zstd",
        ),
        pytest.param(
            zstandard.compress(random.Random(1).randbytes(1000))[:900],
            "is not a whole zstd file: the end is missing",
            id="cut zstd",
        ),
        pytest.param(
            lzma.compress(b"a" * (2 << 20), preset=0),
            "inflates to a suspicious size, and was not read (if you trust it, unpack it yourself)",
            id="a bomb in xz",
        ),
        pytest.param(
            bz2.compress(b"a" * (2 << 20)),
            "inflates to a suspicious size, and was not read (if you trust it, unpack it yourself)",
            id="a bomb in bzip2",
        ),
        pytest.param(lzma.compress(b"text")[:-1], "is not a whole xz file: the end is missing", id="cut xz"),
        pytest.param(bz2.compress(b"text")[:-1], "is not a whole bzip2 file: the end is missing", id="cut bzip2"),
        pytest.param(
            lzma.compress(b"text") + b"more than a header",
            "is not a valid xz file: Input format not supported by decoder",
            id="no xz",
        ),
        pytest.param(greedy(), "is not a valid xz file: Memory usage limit exceeded", id="an xz that wants memory"),
        pytest.param(bz2.compress(b"text") + b"more", "is not a valid bzip2 file: Invalid data stream", id="no bzip2"),
        pytest.param(
            zstandard.compress(b"text") + b"more",
            "is not a valid zstd file: zstd decompressor error: Unknown frame descriptor",
            id="no zstd",
        ),
    ],
)
def test_what_is_no_text_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.setattr(inflate, "_MAX_SMALL", 1 << 20)
    (tmp_path / "a.yaml").write_bytes(content)
    assert read(tmp_path / "a.yaml") == ([], [f"{tmp_path / 'a.yaml'}: {message}"])


def test_what_cannot_be_opened_is_a_problem_and_hides_nothing_else(tree: Path) -> None:
    os.mkfifo(tree / "pipe.yaml")
    (tree / "dangling.yaml").symlink_to(tree / "nowhere")
    (tree / "empty").mkdir()
    found, problems = read(
        tree / "pipe.yaml",
        "/dev/zero",
        tree / "dangling.yaml",
        tree / "missing",
        tree / "x*",
        tree / "empty",
        tree / "b.yaml",
    )
    assert [Path(name).name for name, _ in found] == ["b.yaml"]
    assert [problem.replace(f"{tree}/", "") for problem in problems] == [
        "x*: matches no file",
        "empty: holds no .yaml, .yml or .json file",
        "pipe.yaml: is neither a file nor a directory",
        "/dev/zero: is neither a file nor a directory",
        "dangling.yaml: cannot be read: No such file or directory",
        "missing: cannot be read: No such file or directory",
    ]


def test_the_pipe_of_a_process_substitution_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"text")
    os.close(writer)
    try:
        assert read(f"/dev/fd/{reader}")[0] == [(f"/dev/fd/{reader}", b"text")]
    finally:
        os.close(reader)
