"""The demo cluster as other tools would have dumped it: files by path; and ways to pack such a tree."""

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml
import zstandard

from kwhatif.sources.decoding.kinds import BY_KIND
from tests import FIXTURES
from tests.objects import manifest

DEMO = FIXTURES / "demo" / "cluster.yaml"
Json = dict[str, Any]
Files = dict[str, bytes]


@cache
def demo() -> tuple[Json, ...]:
    """The objects of the demo cluster as kubectl printed them."""
    return tuple(yaml.load(DEMO.read_bytes(), yaml.CSafeLoader)["items"])


def grouped() -> dict[tuple[str, str], list[Json]]:
    """Kind and namespace -> objects."""
    found: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for obj in demo():
        found[obj["kind"], obj["metadata"].get("namespace", "")].append(obj)
    return found


def listing(kind: str, items: list[Json]) -> Json:
    return {"kind": f"{kind}List", "apiVersion": BY_KIND[kind].api_version, "metadata": {}, "items": items}


def to_json(value: object) -> bytes:
    return json.dumps(value, indent=4).encode()


def to_yaml(value: object) -> bytes:
    return yaml.dump(value, Dumper=yaml.CSafeDumper).encode()


def namespaces() -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in demo() if obj["kind"] == "Namespace")


def cluster_info(suffix: str = "json") -> Files:
    """`kubectl cluster-info dump --all-namespaces --output-directory`."""
    encode = to_json if suffix == "json" else to_yaml
    kinds = {
        "pods": "Pod",
        "services": "Service",
        "replicasets": "ReplicaSet",
        "deployments": "Deployment",
        "daemonsets": "DaemonSet",
        "replication-controllers": "ReplicationController",
    }
    objects = grouped()
    files = {f"nodes.{suffix}": encode(listing("Node", objects["Node", ""]))}
    for namespace in namespaces():
        for name, kind in kinds.items():
            files[f"{namespace}/{name}.{suffix}"] = encode(listing(kind, objects[kind, namespace]))
        files[f"{namespace}/events.{suffix}"] = b"{ no list that anybody reads"
        files[f"{namespace}/web-1/logs.txt"] = b"==== START logs for container web of pod ====\n"
    return files


def must_gather() -> Files:
    """`oc adm must-gather`, below the folder of its image."""
    top = "must-gather.local.1/quay-io-origin-must-gather-sha256-1a2b"
    files = {f"{top}/version": b"4.20", f"{top}/event-filter.html": b"<html>"}
    for (kind, namespace), items in grouped().items():
        resource = BY_KIND[kind]
        group = resource.group or "core"
        if kind == "Namespace":
            for item in items:
                name = item["metadata"]["name"]
                files[f"{top}/namespaces/{name}/{name}.yaml"] = to_yaml(item)
        elif namespace:
            files[f"{top}/namespaces/{namespace}/{group}/{resource.plural}.yaml"] = to_yaml(listing(kind, items))
        else:
            for item in items:
                path = f"{top}/cluster-scoped-resources/{group}/{resource.plural}/{item['metadata']['name']}.yaml"
                files[path] = to_yaml(item)
    for namespace in namespaces():
        files[f"{top}/namespaces/{namespace}/core/secrets.yaml"] = b"kind: [never\nread"
        files[f"{top}/namespaces/{namespace}/core/configmaps.yaml"] = b"\0never read"
    for pod in grouped()["Pod", "shop"]:
        name = pod["metadata"]["name"]
        files[f"{top}/namespaces/shop/pods/{name}/{name}.yaml"] = to_yaml(pod | {"status": {"phase": "Failed"}})
        files[f"{top}/namespaces/shop/pods/{name}/web/web/logs/current.log"] = b"hello\n"
    return files


def bare(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def insights() -> Files:
    """An archive of the OpenShift Insights operator: objects without kind and version, budgets with both."""
    places = {"Node": "node", "Pod": "pod", "PodDisruptionBudget": "pdbs", "StorageClass": "storage/storageclasses"}
    files = {
        "config/id": b"7b9db4ae",
        "config/metrics": b"# HELP x\nx 1\n",
        "config/workload_info.json": b'{"pods": 5, "namespaces": {"x": {}}}',
        "config/version.json": b'{"metadata": {"name": "version"}, "spec": {}}',
        "config/secrets/openshift-config/support/data.json": b"\0never read",
        "config/configmaps/openshift-config/ca/ca.json": b"{never read",
        "config/pod/shop/logs/web-1/errors.log": b"hello\n",
        "config/node/logs/general-a1.log": b"hello\n",
        "cluster-scoped-resources/rbac.authorization.k8s.io/clusterroles/admin.json": b'{"rules": []}',
        "events/shop.json": b'{"items": [{"reason": "BackOff"}]}',
        "insights-operator/gathers.json": b"{}",
    }
    for obj in demo():
        if obj["kind"] in places:
            within = f"{obj['metadata']['namespace']}/" if "namespace" in obj["metadata"] else ""
            content = obj if obj["kind"] == "PodDisruptionBudget" else bare(obj)
            files[f"config/{places[obj['kind']]}/{within}{obj['metadata']['name']}.json"] = to_json(content)
    pod = next(obj for obj in demo() if obj["kind"] == "Pod")
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    return files | {f"conditional/namespaces/{namespace}/pods/{name}/{name}.json": to_json(bare(pod))}


def gathered(top: str = "hub") -> Files:
    """`kubectl gather`: a file for each object of all kinds."""
    files = {"gather.log": b'2026-11-21T07:19:00\tINFO\tgather\tGathering from cluster "hub"\n'}
    for obj in demo():
        resource, meta = BY_KIND[obj["kind"]], obj["metadata"]
        where = f"namespaces/{meta['namespace']}" if "namespace" in meta else "cluster"
        name = f"{resource.group}/{resource.plural}" if resource.group else resource.plural
        files[f"{top}/{where}/{name}/{meta['name']}.yaml"] = to_yaml(obj)
    for namespace in namespaces():
        files[f"{top}/namespaces/{namespace}/secrets/s.yaml"] = b"kind: [never\nread"
        files[f"{top}/namespaces/{namespace}/configmaps/c.yaml"] = b"\0never read"
    files[f"{top}/namespaces/shop/pods/web-1/web/current.log"] = b"\0log"
    files[f"{top}/addons/rook/commands/ceph-status"] = b"{"
    return files


def velero() -> Files:
    """A Velero backup of all namespaces, taken with the feature EnableAPIGroupVersions."""
    files = {"metadata/version": b"1.1.0\n"}
    for obj in demo():
        resource, meta = BY_KIND[obj["kind"]], obj["metadata"]
        where = f"namespaces/{meta['namespace']}" if "namespace" in meta else "cluster"
        name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        for version in ("", "v1-preferredversion/"):
            files[f"resources/{name}/{version}{where}/{meta['name']}.json"] = to_json(obj)
        old = obj | {"apiVersion": f"{resource.group}/v1beta1", "spec": {}, "status": {}}
        files[f"resources/{name}/v1beta1/{where}/{meta['name']}.json"] = to_json(old)
    files["resources/secrets/namespaces/shop/s.json"] = b"\0never read"
    files["resources/configmaps/namespaces/shop/c.json"] = b"{never read"
    return files


def support_bundle() -> Files:
    """`kubectl support-bundle` with the collector `clusterResources`."""
    top = "support-bundle-2026-11-21T07_19_00/cluster-resources"
    names = {
        "PersistentVolume": "pvs",
        "PersistentVolumeClaim": "pvcs",
        "PodDisruptionBudget": "pod-disruption-budgets",
        "ResourceQuota": "resource-quota",
        "StorageClass": "storage-classes",
    }
    objects = grouped()
    files = {}
    for kind in ("Node", "PersistentVolume", "StorageClass", "PriorityClass", "VolumeAttachment", "Namespace"):
        name = names.get(kind, BY_KIND[kind].plural)
        files[f"{top}/{name}.json"] = to_json(listing(kind, objects[kind, ""]))
    of_namespaces = "Pod PodDisruptionBudget Service Deployment StatefulSet DaemonSet ReplicaSet Job ResourceQuota"
    for kind in (*of_namespaces.split(), "LimitRange", "PersistentVolumeClaim"):
        name = names.get(kind, BY_KIND[kind].plural)
        for namespace in namespaces():
            items = [{key: value for key, value in obj.items() if key != "kind"} for obj in objects[kind, namespace]]
            files[f"{top}/{name}/{namespace}.json"] = to_json(listing(kind, items))
    files[f"{top}/configmaps/shop.json"] = b"never read"
    files[f"{top}/image-pull-secrets/shop/pull.json"] = b"\0never read"
    files[f"{top}/pods/logs/shop/web-1/web.log"] = b"hello\n"
    files[f"{top}/auth-cani-list/shop.json"] = b"[]"
    return files


def kwokctl() -> bytes:
    """`kwokctl snapshot export`: with times counted from half past eight on, to the nanosecond."""
    moment = datetime.fromisoformat("2026-11-21T08:30:00+00:00")

    def offset(match: re.Match[str]) -> str:
        seconds = int((datetime.fromisoformat(match[0]) - moment).total_seconds())
        return f"$(time-offset-nanosecond {seconds * 1_000_000_000 - 123_456_789})"

    kept = ("Namespace", "Node", "LimitRange", "PriorityClass", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
    found = [obj for kind in (*kept, "Pod", "Service") for obj in demo() if obj["kind"] == kind]
    secret = manifest("Secret", {"name": "s", "namespace": "shop"}, data={"p": "eA=="})
    text = "---\n".join(yaml.dump(obj, Dumper=yaml.CSafeDumper) for obj in (*found, secret))
    return re.sub(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", offset, text).encode()


def simulator() -> Json:
    """The export of kube-scheduler-simulator."""
    objects = grouped()
    found = {
        kind: [bare(obj) for (each, _), items in objects.items() if each == kind for obj in items]
        for kind in ("Pod", "Node", "PriorityClass", "Namespace")
    }
    return {
        "pods": found["Pod"],
        "nodes": found["Node"],
        "pvs": [],
        "pvcs": [],
        "storageClasses": [],
        "priorityClasses": [obj for obj in found["PriorityClass"] if not obj["metadata"]["name"].startswith("system-")],
        "schedulerConfig": {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"},
        "namespaces": [obj for obj in found["Namespace"] if not re.match("kube-|default$", obj["metadata"]["name"])],
    }


def as_folder(path: Path, files: Files) -> Path:
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def tar(files: Files) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def zip_(files: Files) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


#: Suffix -> how to pack a tree so.
PACKERS: dict[str, Callable[[Files], bytes]] = {
    "tar": tar,
    "tar.gz": lambda files: gzip.compress(tar(files), 1),
    "tgz": lambda files: gzip.compress(tar({f"./{name}": content for name, content in files.items()}), 1),
    "tar.zst": lambda files: zstandard.compress(tar(files)),
    "tar.xz": lambda files: lzma.compress(tar(files), preset=0),
    "tar.bz2": lambda files: bz2.compress(tar(files), 1),
    "zip": zip_,
}


def packed(folder: Path, suffix: str, files: Files) -> Path:
    """The tree as a file of that sort, or as a folder."""
    if suffix == "folder":
        return as_folder(folder / "dump", files)
    path = folder / f"dump.{suffix}"
    path.write_bytes(PACKERS[suffix](files))
    return path
