"""A control plane with everything that it needs to live, and the steps of a story done to it."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.api import Api
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubelets import Kubelets, kubelets
from tests.e2e.watched import Watched, watched

Json = dict[str, Any]
#: Seconds without a change of any pod after which nothing more is expected, and how long it may take until then.
_QUIET, _PATIENCE = 6.0, 180.0


class Ran(NamedTuple):
    """A command of kubectl, and what came of it."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str


class Kubectl:
    """kubectl as the administrator."""

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        self._program = program
        # kubectl keeps what it has learnt of a server at home.
        self._environment = os.environ | {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}

    def run(self, *argv: str, given: str = "", timeout: float = 120) -> Ran:
        ran = subprocess.run(
            [self._program, *argv],
            input=given,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ran(argv, ran.returncode, ran.stdout, ran.stderr)


class Stage(NamedTuple):
    """Where a story is played."""

    api: Api
    kubectl: Kubectl
    pods: Watched
    kubelets: Kubelets

    def play(self, action: Json) -> list[Ran]:
        """Do all steps one after another, and wait until nothing changes any more. Returns the drains."""
        drains = []
        for step in action["steps"]:
            for what, value in step.items():
                ran = self._do(what, value)
                if what == "drain" and ran:
                    drains.append(ran)
        self.settle(**action.get("settle", {}))
        return drains

    def settle(self, quiet: float = _QUIET, atLeast: float = 0) -> None:  # noqa: N803 - as the recordings name it
        """Wait until no pod has changed for `quiet` seconds, and for `atLeast` seconds in all."""
        begun = time.monotonic()
        while (now := time.monotonic()) < begun + atLeast or now < max(begun, self.pods.changed) + quiet:
            assert now < begun + _PATIENCE, "the cluster does not come to rest"
            time.sleep(0.1)

    def _do(self, what: str, value: Any) -> Ran | None:
        match what:
            case "wait":
                time.sleep(value)
            case "settle":
                self.settle(**value)
            case "loseNode":
                self.kubelets.silence(value)
            case "returnNode":
                self.kubelets.wake(value)
            case "deleteNode":
                self.kubelets.forget(value)
                return self._must("delete", "node", value, "--wait=false")
            case "apply":
                return self._must("apply", "-f", "-", given="\n".join(map(json.dumps, value)))
            case "applyServerSide":
                manager = f"--field-manager={value.get('manager', 'kubectl')}"
                given = "\n".join(map(json.dumps, value["objects"]))
                return self._must("apply", "--server-side", manager, "-f", "-", given=given)
            case "drain":
                return self.kubectl.run(*_drain(value))
            case _:
                return self._must(*_argv(what, value))
        return None

    def _must(self, *argv: str, given: str = "") -> Ran:
        ran = self.kubectl.run(*argv, given=given)
        assert ran.code == 0, ran.err
        return ran


@contextmanager
def stage_of(plane: ControlPlane, flags: Sequence[str] = (), **kubelet: float) -> Iterator[Stage]:
    """Let scheduler, controllers and kubelets work, for as long as the `with` lasts.

    Args:
        plane: the API server.
        flags: of kube-controller-manager.
        kubelet: `start` and `stop`, in seconds.
    """
    kubectl = Kubectl(plane.programs / "kubectl", plane.kubeconfig("admin"))
    with (
        watched(plane.api) as pods,
        kubelets(plane.api, pods, **kubelet) as nodes,
        plane.scheduler(),
        plane.controllers(*flags),
    ):
        yield Stage(plane.api, kubectl, pods, nodes)


def _drain(value: Json) -> list[str]:
    args = ["--ignore-daemonsets", "--force", "--delete-emptydir-data", *value.get("args", [])]
    return ["drain", value["node"], *args, f"--timeout={value.get('timeout', 60)}s"]


def _argv(what: str, value: Any) -> list[str]:
    space = ["-n", value.get("namespace", "default")] if isinstance(value, dict) else []
    match what:
        case "cordon" | "uncordon":
            return [what, value]
        case "taint":
            return ["taint", "node", value["node"], value["taint"]]
        case "label":
            return [
                "label",
                "--overwrite",
                "node",
                value["node"],
                *(f"{key}={text}" for key, text in value["labels"].items()),
            ]
        case "scale":
            return [
                "scale",
                f"{value.get('kind', 'deployment')}/{value['name']}",
                f"--replicas={value['replicas']}",
                *space,
            ]
        case "deletePod":
            force = ["--force", "--grace-period=0"] if value.get("force") else []
            return ["delete", "pod", value["name"], "--wait=false", *force, *space]
        case "delete":
            return ["delete", value["kind"], value["name"], "--wait=false", *space]
        case "patch":
            return ["patch", value["kind"], value["name"], "--type=merge", "-p", json.dumps(value["patch"]), *space]
    raise AssertionError(f"unknown step {what}")
