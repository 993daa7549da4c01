"""Nothing heavy is imported before it is needed: help is there at once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

#: Runs one command after the other: what one of them imports is there for those behind it, too.
PROGRAM = """
import json, sys
before = set(sys.modules)
from kwhatif.cli import main
for line in sys.argv[1:]:
    sys.argv = ["kwhatif", *line.split()]
    try:
        main()
    except SystemExit:
        pass
    print("\\n@" + json.dumps([line, sorted(set(sys.modules) - before)]))
"""

OURS = {
    "kwhatif",
    "kwhatif._version",
    "kwhatif.api",
    "kwhatif.api.options",
    "kwhatif.api.refusals",
    "kwhatif.cli",
    "kwhatif.cli.app",
    "kwhatif.cli.deciders",
    "kwhatif.cli.cluster_options",
    "kwhatif.cli.characters",
    "kwhatif.cli.cluster",
    "kwhatif.cli.compare",
    "kwhatif.cli.about",
    "kwhatif.cli.maintenance",
    "kwhatif.cli.gate",
    "kwhatif.cli.mcp",
    "kwhatif.cli.mcp.command",
    "kwhatif.cli.options",
    "kwhatif.cli.option_groups",
    "kwhatif.cli.pods",
    "kwhatif.cli.question",
    "kwhatif.cli.progress",
    "kwhatif.cli.risks",
    "kwhatif.cli.answers",
    "kwhatif.cli.run",
    "kwhatif.cli.serve",
    "kwhatif.cli.snapshot",
    "kwhatif.cli.usage",
    "kwhatif.cli.watch",
    "kwhatif.errors",
    "kwhatif.garbage",
    "kwhatif.render",
    "kwhatif.render.safe",
}
#: Packages of others: Typer and what it imports itself. (click: before Typer had its own.)
OTHERS = {"annotated_doc", "click", "shellingham", "typer", "typing_extensions"}
#: What Python has, and help does without: it costs tens of milliseconds.
SLOW = {"asyncio", "email", "http.server", "multiprocessing", "ssl"}


COMMANDS = [
    "--version",
    "schedule -h",
    "--help",
    "drain -h",
    "outage -h",
    "preempt -h",
    "gate -h",
    "queue -h",
    "advise -h",
    "deschedule -h",
    "autoscale -h",
    "consolidate -h",
    "capacity -h",
    "simulate -h",
    "rbac -h",
    "completion -h",
    "version -h",
    "watch -h",
    "serve -h",
    "mcp -h",
    "snapshot -h",
    "snapshot save -h",
    "snapshot info -h",
]


@pytest.fixture(scope="module")
def imported() -> dict[str, list[str]]:
    """Command -> what is imported when it has answered."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *COMMANDS], capture_output=True, text=True, check=True)
    return dict(json.loads(line[1:]) for line in ran.stdout.splitlines() if line.startswith("@"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_no_more_than_this(command: str, imported: dict[str, list[str]]) -> None:
    packages = {name.partition(".")[0] for name in imported[command]} - sys.stdlib_module_names
    ours = {name for name in imported[command] if name.startswith("kwhatif")}
    assert ours == OURS if command == "--help" else ours <= OURS
    assert packages - {"kwhatif"} <= OTHERS
    assert not SLOW & set(imported[command])


def test_a_command_does_without_the_others(imported: dict[str, list[str]]) -> None:
    assert {"kwhatif.cli.gate", "kwhatif.cli.maintenance"} & set(imported["schedule -h"]) == set()


#: What only some input needs: a dump that is an archive, or a live cluster.
OF_SOME_INPUT = {"tarfile", "zipfile", "queue", "http.client"}


def test_a_dump_that_is_one_file_imports_nothing_for_archives_or_servers() -> None:
    answer = "schedule fixtures/demo/pods/small.yaml --from fixtures/demo/cluster.yaml"
    ran = subprocess.run([sys.executable, "-c", PROGRAM, answer], capture_output=True, text=True, check=True)
    _, imported = json.loads(next(line[1:] for line in ran.stdout.splitlines() if line.startswith("@")))
    assert "kwhatif.questions.session.session" in imported
    assert not OF_SOME_INPUT & set(imported)
