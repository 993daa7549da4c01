"""Regenerate what is made from code: the JSON Schemas of report and policy, and the output that README and docs show.

A block is regenerated between
`<!-- output: COMMAND -->` and `<!-- end -->`; `<!-- file: PATH -->` shows a file, `<!-- call: TOOL {…} -->` what
`kwhatif mcp` answers about the demo, `<!-- figures -->` what was compared, and `<!-- caveats -->` each caveat.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec
from figures import figures

import kwhatif
from kwhatif.errors import ExitCode
from kwhatif.kube.model.caveat import CODES
from kwhatif.policy.schema import Policy
from kwhatif.report import Report
from kwhatif.report.comparison import Comparison
from kwhatif.report.row import schema_text

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"<!-- output: (?P<command>.+?) -->\n.*?<!-- end -->", re.DOTALL)
CALL = re.compile(r"<!-- call: (?P<tool>\w+) (?P<arguments>\{.*?\}) -->\n.*?<!-- end -->", re.DOTALL)
FILE = re.compile(r"<!-- file: (?P<path>.+?) -->\n.*?<!-- end -->", re.DOTALL)
FIGURES = re.compile(r"<!-- figures -->\n.*?<!-- end -->", re.DOTALL)
CAVEATS = re.compile(r"<!-- caveats -->\n.*?<!-- end -->", re.DOTALL)
#: What would change the output.
SET_BY_USER = {"FORCE_COLOR", "KWHATIF_KUBERNETES_VERSION"}
#: The moment at which the demo's dump was taken, so that ages stay what they were; 100 columns fit a web page.
ENVIRONMENT = {"SOURCE_DATE_EPOCH": "1795245600", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


@cache
def output_of(command: str) -> str:
    """What the command prints, as a reader would see it; `kwhatif … | jq …` is the one pipe that there may be."""
    command, _, program = command.partition(" | jq ")
    if program:
        answer = subprocess.run(
            ["jq", *shlex.split(program)],
            input=output_of(command),
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=True,
        )
        return answer.stdout.rstrip("\n")
    argv = shlex.split(command)
    assert argv[0] == "kwhatif", command
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        code = run(argv[1:], out.fileno(), err.fileno())
        out.seek(0)
        err.seek(0)
        printed, failures = out.read(), err.read()
    if code in (ExitCode.USAGE, ExitCode.BUG):
        sys.exit(f"{command} failed: {failures}")
    return "\n".join(line.rstrip() for line in (printed + failures).splitlines())


def run(arguments: list[str], out: int, err: int) -> int:
    """The exit code of kwhatif, in a process of its own that need not import anything again."""
    from kwhatif.cli import console  # only now: it reads the environment

    child = os.fork()
    if not child:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.argv[1:] = arguments
        console()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def import_all() -> None:
    """Everything that a command may need, once for all of them."""
    for module in pkgutil.walk_packages(kwhatif.__path__, "kwhatif."):
        if not module.name.endswith(("__main__", "on_dask")) and not module.name.startswith("kwhatif.cli.mcp."):
            importlib.import_module(module.name)
    importlib.import_module("kwhatif.cli.app").commands()


def fresh(text: str) -> str:
    """The document with every block regenerated."""

    def block(match: re.Match[str]) -> str:
        command = match["command"]
        if " | jq " in command and shutil.which("jq") is None:
            return match[0]  # whoever has jq sees whether it is up to date
        return f"<!-- output: {command} -->\n```console\n$ {command}\n{output_of(command)}\n```\n<!-- end -->"

    def file(match: re.Match[str]) -> str:
        path = Path(match["path"])
        return f"<!-- file: {path} -->\n```{path.suffix[1:]}\n{(ROOT / path).read_text()}```\n<!-- end -->"

    def call(match: re.Match[str]) -> str:
        tool, arguments = match["tool"], json.loads(match["arguments"])
        made = json.dumps({"name": tool, "arguments": arguments}, indent=2)
        return (
            f"<!-- call: {tool} {match['arguments']} -->\n```json\n{made}\n```\n"
            f"```text\n{answer_of(tool, arguments)}\n```\n<!-- end -->"
        )

    if CAVEATS.search(text):
        text = CAVEATS.sub(lambda _: f"<!-- caveats -->\n{caveats()}\n<!-- end -->", text)
    if FIGURES.search(text):
        text = FIGURES.sub(f"<!-- figures -->\n{figures()}\n<!-- end -->", text)
    text = FILE.sub(file, BLOCK.sub(block, text))
    return CALL.sub(call, text) if importlib.util.find_spec("mcp") is not None else text


def caveats() -> str:
    """A table of all caveats: their codes, levels and docstrings."""
    rows = ["| code | default | `--strict` | meaning |", "|---|---|---|---|"]
    for code, kind in CODES.items():
        missing = next(field.default for field in msgspec.structs.fields(kind) if field.name == "missing")
        level = "warn" if (missing if kind.warns is None else kind.warns) else "pass"
        rows.append(f"| `{code}` | {level} | {'fail' if missing else ''} | {' '.join((kind.__doc__ or '').split())} |")
    return "\n".join(rows)


def answer_of(tool: str, arguments: dict[str, object]) -> str:
    """What an assistant reads of an answer about the demo."""
    from kwhatif.cli.app import commands
    from kwhatif.cli.mcp.desk import Desk
    from kwhatif.cli.mcp.server import Cluster, Questions
    from kwhatif.cli.mcp.tools import tools

    taken_at = datetime.fromtimestamp(int(ENVIRONMENT["SOURCE_DATE_EPOCH"]), UTC)
    demo = kwhatif.load("fixtures/demo/cluster.yaml", now=taken_at)
    root: Any = commands()
    known = tools(root.commands)
    result = Questions(Cluster(lambda: demo, known, {}), Desk()).answer(known[tool], arguments)
    return "\n".join(content.text for content in result.content)


def generated() -> dict[Path, str]:
    """Every generated file with the content that it should have."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path: path.read_text() for path in documents}
    made = (BLOCK, CALL, FIGURES, CAVEATS)
    files = {path: fresh(text) for path, text in texts.items() if any(kind.search(text) for kind in made)}
    for kind, known in ((Report, None), (Comparison, Report), (Policy, None)):
        files[ROOT / "kwhatif" / "schema" / f"{kind.__name__.lower()}.json"] = schema_text(kind, known)
    return files


def main() -> int:
    """Write, or with `--check` list, what is out of date."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--check", action="store_true", help="write nothing; list what is out of date, and exit with 1"
    )
    asked = options.parse_args()
    for name in SET_BY_USER:
        os.environ.pop(name, None)
    os.environ |= ENVIRONMENT
    os.chdir(ROOT)
    import_all()
    texts = generated()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if asked.check:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run `make generated`")
        return bool(stale)
    for path in stale:
        path.write_text(texts[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
