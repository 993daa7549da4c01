"""Random pods and namespaces for Pod Security, and what upstream's own package says of them.

    python -m tests.pod_security.generate JUDGE 400 > fixtures/admission/pod-security.jsonl

`JUDGE` is the program of `tests/oracle/podsecurity`. The same number gives the same cases.
"""

import json
import random
import subprocess
import sys
from typing import Any

from tests.objects import manifest

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted", "restricted", "baseline", "strict")
VERSIONS = (
    "latest",
    "v1.0",
    "v1.7",
    "v1.18",
    "v1.21",
    "v1.22",
    "v1.24",
    "v1.28",
    "v1.30",
    "v1.33",
    "v1.35",
    "v1.99",
    "x",
)
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
VOLUMES: dict[str, Any] = {
    "awsElasticBlockStore": {"volumeID": "v"},
    "azureDisk": {"diskName": "d", "diskURI": "u"},
    "azureFile": {"secretName": "s", "shareName": "n"},
    "cephfs": {"monitors": ["m"]},
    "cinder": {"volumeID": "v"},
    "configMap": {"name": "c"},
    "csi": {"driver": "d"},
    "downwardAPI": {},
    "emptyDir": {},
    "ephemeral": {},
    "fc": {},
    "flexVolume": {"driver": "d"},
    "flocker": {},
    "gcePersistentDisk": {"pdName": "p"},
    "gitRepo": {"repository": "r"},
    "glusterfs": {"endpoints": "e", "path": "p"},
    "hostPath": {"path": "/"},
    "image": {"reference": "r"},
    "iscsi": {"targetPortal": "t", "iqn": "i", "lun": 0},
    "nfs": {"server": "s", "path": "p"},
    "persistentVolumeClaim": {"claimName": "c"},
    "photonPersistentDisk": {"pdID": "p"},
    "portworxVolume": {"volumeID": "v"},
    "projected": {},
    "quobyte": {"registry": "r", "volume": "v"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "scaleIO": {"gateway": "g", "system": "s", "secretRef": {}},
    "secret": {"secretName": "s"},
    "storageos": {},
    "vsphereVolume": {"volumePath": "p"},
}


class Dice:
    """Makes one case after another."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def _maybe(self, chance: float = 0.12) -> bool:
        return self._random.random() < chance

    def case(self) -> dict[str, Any]:
        """Labels, the API server's version, and a pod."""
        labels = {}
        for mode, chance in (("enforce", 0.9), ("warn", 0.3)):
            if self._maybe(chance):
                labels[f"{PREFIX}{mode}"] = self._random.choice(LEVELS)
            if self._maybe(0.4):
                labels[f"{PREFIX}{mode}-version"] = self._random.choice(VERSIONS)
        return {"labels": labels, "minor": self._random.choice((30, 33, 34, 35, 36, 36, 37)), "pod": self._pod()}

    def _pod(self) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "containers": [self._container(name) for name in self._random.sample("abc", self._random.choice((1, 1, 2)))]
        }
        if self._maybe(0.3):
            spec["initContainers"] = [self._container("init")]
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if self._maybe(0.05):
                spec[name] = True
        if self._maybe(0.15):
            spec["hostUsers"] = self._maybe(0.3)
        if self._maybe(0.1):
            spec["os"] = {"name": self._random.choice(("linux", "windows"))}
        if self._maybe(0.5):
            spec["securityContext"] = self._context(pod=True)
        if self._maybe(0.4):
            kinds = self._random.sample(sorted(VOLUMES), self._random.choice((1, 1, 2, 3)))
            spec["volumes"] = [{"name": f"v{place}", kind: VOLUMES[kind]} for place, kind in enumerate(kinds)]
        return manifest("Pod", {"name": "p", "annotations": self._annotations()}, spec=spec)

    def _annotations(self) -> dict[str, str]:
        notes = {}
        profiles = ("runtime/default", "localhost/x", "unconfined", "", "docker/default")
        for key in (
            "container.apparmor.security.beta.kubernetes.io/a",
            "container.apparmor.security.beta.kubernetes.io/z",
            "seccomp.security.alpha.kubernetes.io/pod",
            "container.seccomp.security.alpha.kubernetes.io/a",
        ):
            if self._maybe(0.15):
                notes[key] = self._random.choice(profiles)
        return notes

    def _container(self, name: str) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name, "image": "i"}
        if self._maybe(0.85):
            made["securityContext"] = self._context(pod=False)
        if self._maybe(0.2):
            made["ports"] = [
                {"containerPort": 80, "hostPort": self._random.choice((0, 80, 9090))},
                {"containerPort": 81},
            ]
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            if self._maybe(0.08):
                made[probe] = self._handler()
        if self._maybe(0.1):
            made["lifecycle"] = {self._random.choice(("postStart", "preStop")): self._handler()}
        return made

    def _handler(self) -> dict[str, Any]:
        kind = self._random.choice(("httpGet", "tcpSocket", "exec"))
        if kind == "exec":
            return {"exec": {"command": ["x"]}}
        return {kind: {"port": 80, **({"host": self._random.choice(("h", "10.0.0.1"))} if self._maybe(0.5) else {})}}

    def _context(self, *, pod: bool) -> dict[str, Any]:
        """Mostly what is allowed, with something else here and there."""
        found = dict(RESTRICTED) if self._maybe(0.7) else {}
        if pod:
            found = {name: value for name, value in found.items() if name in ("runAsNonRoot", "seccompProfile")}
        for name in list(found):
            if self._maybe(0.1):
                del found[name]
        choices: dict[str, Any] = {
            "runAsNonRoot": (False, True),
            "runAsUser": (0, 1000),
            "seccompProfile": ({"type": "Unconfined"}, {"type": "Localhost", "localhostProfile": "p"}),
            "appArmorProfile": (
                {"type": "Unconfined"},
                {"type": "Localhost", "localhostProfile": "p"},
                {"type": "RuntimeDefault"},
            ),
            "seLinuxOptions": (
                {"type": "spc_t"},
                {"type": "container_engine_t"},
                {"user": "u"},
                {"role": "r", "type": "container_t"},
            ),
            "windowsOptions": ({"hostProcess": True}, {"hostProcess": False}, {}),
        }
        if pod:
            names = (
                "kernel.msgmax",
                "net.ipv4.tcp_rmem",
                "net.ipv4.tcp_fin_timeout",
                "net.ipv4.ip_local_reserved_ports",
                "kernel.shm_rmid_forced",
            )
            choices["sysctls"] = tuple(
                [{"name": name, "value": "1"} for name in self._random.sample(names, count)] for count in (1, 2)
            )
        else:
            choices |= {
                "privileged": (True, False),
                "allowPrivilegeEscalation": (True, False),
                "procMount": ("Unmasked", "Default"),
                "capabilities": (
                    {"add": ["NET_ADMIN", "CHOWN"]},
                    {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
                    {"drop": ["all"]},
                    {"add": ["SYS_TIME", "CHOWN"], "drop": ["ALL", "KILL"]},
                ),
            }
        for name, values in choices.items():
            if self._maybe(0.1):
                found[name] = self._random.choice(values)
        return found


def main() -> None:
    """Ask the judge about so many cases."""
    judge, count = sys.argv[1], int(sys.argv[2])
    dice = Dice(count)
    asked = "".join(f"{json.dumps(dice.case())}\n" for _ in range(count))
    answered = subprocess.run([judge], input=asked, capture_output=True, text=True, check=True).stdout
    sys.stdout.write(answered)


if __name__ == "__main__":
    main()
