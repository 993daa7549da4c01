"""The demo cluster as other tools would have dumped it: files by path; and ways to pack such a tree."""

from __future__ import annotations

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

DEMO = Path(__file__).parents[1] / "fixtures" / "demo" / "cluster.yaml"
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
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "shop"},
        "data": {"p": "eA=="},
    }
    text = "---\n".join(yaml.dump(obj, Dumper=yaml.CSafeDumper) for obj in (*found, secret))
    return re.sub(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", offset, text).encode()


def simulator() -> Json:
    """The export of kube-scheduler-simulator."""
    objects = grouped()
    bare = {
        kind: [
            {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            for (each, _), items in objects.items()
            if each == kind
            for obj in items
        ]
        for kind in ("Pod", "Node", "PriorityClass", "Namespace")
    }
    return {
        "pods": bare["Pod"],
        "nodes": bare["Node"],
        "pvs": [],
        "pvcs": [],
        "storageClasses": [],
        "priorityClasses": [obj for obj in bare["PriorityClass"] if not obj["metadata"]["name"].startswith("system-")],
        "schedulerConfig": {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"},
        "namespaces": [obj for obj in bare["Namespace"] if not re.match("kube-|default$", obj["metadata"]["name"])],
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
