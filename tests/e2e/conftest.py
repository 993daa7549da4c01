"""A control plane for the whole run, with the demo in it. Nothing is collected here without `make e2e`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.api import home_of
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.demo import Demo
from tests.e2e.processes import NotStarted

#: Where `make e2e` has built the programs.
PROGRAMS = os.environ.get("KWHATIF_E2E", "")
KWHATIF = Path(sys.executable).with_name("kwhatif")
collect_ignore_glob = [] if PROGRAMS else ["test_*.py"]

Run = Callable[..., subprocess.CompletedProcess[str]]
_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    if PROGRAMS:
        config.stash[_FOLDER] = Path(tempfile.mkdtemp(prefix="kwhatif-e2e-"))
        # Whoever ends this run otherwise than by Ctrl-C gets the same order: fixtures stop what they started.
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    if not PROGRAMS:
        return
    folder = config.stash[_FOLDER]
    if exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder)
    else:
        terminalreporter.write_line(f"The logs of etcd and Kubernetes are in {folder}")


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """The folder of this run, which stays after a failure."""
    return pytestconfig.stash[_FOLDER]


@pytest.fixture(scope="session")
def plane(run_folder: Path) -> Iterator[ControlPlane]:
    """An API server with the demo, which user `kwhatif` may read as `kwhatif rbac` says, and no further."""
    with ExitStack() as stack:
        try:
            plane = stack.enter_context(control_plane(Path(PROGRAMS), run_folder))
        except NotStarted as failure:  # said once, not for every test
            pytest.exit(str(failure), returncode=1)
        let_kwhatif_read(plane)
        yield plane


def let_kwhatif_read(plane: ControlPlane) -> None:
    """Give user `kwhatif` the rights that `kwhatif rbac` asks for."""
    role = yaml.safe_load(subprocess.run([KWHATIF, "rbac"], check=True, capture_output=True).stdout)
    for obj in (role, _binding(role["metadata"]["name"])):
        plane.api.send("POST", home_of(obj), obj)


@pytest.fixture(scope="session")
def demo(plane: ControlPlane) -> Demo:
    demo = Demo(plane.api)
    demo.load()
    return demo


@pytest.fixture(scope="session")
def kwhatif(plane: ControlPlane) -> Run:
    """Run the command line in a process of its own, as user `kwhatif`."""
    # The moment at which the demo's dump was taken: otherwise it is old, and the live cluster is not.
    return command_line(plane, {"SOURCE_DATE_EPOCH": "1795245600"})


def command_line(plane: ControlPlane, variables: dict[str, str]) -> Run:
    """kwhatif in a process of its own, as user `kwhatif` of a control plane."""
    environment = os.environ | variables | {"KUBECONFIG": str(plane.kubeconfig("kwhatif"))}

    def run(*argv: object) -> subprocess.CompletedProcess[str]:
        command = [str(KWHATIF), *map(str, argv)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode in {0, 1}, f"{' '.join(command)}\n{ran.stderr}"
        return ran

    return run


@pytest.fixture(scope="session")
def report(kwhatif: Run) -> Callable[..., dict[str, Any]]:
    """The report that a command prints."""

    def answer(*argv: object) -> dict[str, Any]:
        return json.loads(kwhatif(*argv, "-o", "json").stdout)

    return answer


def _binding(role: str) -> dict[str, Any]:
    rbac = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "kwhatif"}],
    }
