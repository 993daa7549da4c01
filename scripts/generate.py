"""Regenerate what is made from code: the JSON Schemas of report and policy, and the output that README and docs show.

`generate.py` writes, `generate.py --check` only says whether anything is out of date. A block is regenerated between
`<!-- output: COMMAND -->` and `<!-- end -->`; `<!-- file: PATH -->` shows a file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from kwhatif.errors import ExitCode
from kwhatif.policy.schema import policy_schema_text
from kwhatif.report import schema_text
from kwhatif.whatif.compare import comparison_schema_text

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"<!-- output: (?P<command>.+?) -->\n.*?<!-- end -->", re.DOTALL)
FILE = re.compile(r"<!-- file: (?P<path>.+?) -->\n.*?<!-- end -->", re.DOTALL)
#: What would change the output.
SET_BY_USER = {"FORCE_COLOR", "KWHATIF_KUBERNETES_VERSION"}
#: The moment at which the demo's dump was taken, so that ages stay what they were; 100 columns fit a web page.
ENVIRONMENT = {"SOURCE_DATE_EPOCH": "1795245600", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


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
    program = [sys.executable, "-c", "from kwhatif.cli import main; main()"]
    environment = {key: value for key, value in os.environ.items() if key not in SET_BY_USER} | ENVIRONMENT
    done = subprocess.run(program + argv[1:], capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    if done.returncode in (ExitCode.USAGE, ExitCode.BUG):
        sys.exit(f"{command} failed: {done.stderr}")
    return "\n".join(line.rstrip() for line in (done.stdout + done.stderr).splitlines())


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

    return FILE.sub(file, BLOCK.sub(block, text))


def generated() -> dict[Path, str]:
    """Every generated file with the content that it should have."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    files = {path: fresh(path.read_text()) for path in documents if BLOCK.search(path.read_text())}
    files[ROOT / "kwhatif" / "schema" / "report.json"] = schema_text()
    files[ROOT / "kwhatif" / "schema" / "comparison.json"] = comparison_schema_text()
    files[ROOT / "kwhatif" / "schema" / "policy.json"] = policy_schema_text()
    return files


def main() -> int:
    """Write, or with `--check` list, what is out of date."""
    texts = generated()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run `make generated`")
        return bool(stale)
    for path in stale:
        path.write_text(texts[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
