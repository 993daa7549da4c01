"""References: `python -m benchmarks.fetching urllib3|client|decode …` does the least that reading a cluster can mean.

It imports no more than that takes: what a reference imports besides makes it slower, and its rival look better.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PAGE = 500
#: In the head of a page: what is in it, and that its list goes on.
KIND = re.compile(rb'"kind":"(\w+)"')
MORE = re.compile(rb'"continue":"([^"]+)"')

#: Answers a GET of a URL with the body.
Get = Callable[[str], bytes]


def with_urllib3(kubeconfig: Path) -> tuple[str, Get]:
    """The server, and how to ask it with nothing but an HTTP client."""
    import urllib3

    config = json.loads(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    pool = urllib3.PoolManager(
        maxsize=8,
        ca_certs=cluster["certificate-authority"],
        cert_file=user["client-certificate"],
        key_file=user["client-key"],
    )
    return cluster["server"], lambda url: pool.request("GET", url).data


def with_client(kubeconfig: Path) -> tuple[str, Get]:
    """The same with the official client, past its models."""
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config.kube_config import load_kube_config

    configuration = Configuration()
    load_kube_config(str(kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
    configuration.connection_pool_maxsize = 8
    pool = RESTClientObject(configuration).pool_manager
    return configuration.host, lambda url: pool.request("GET", url).data


def fetch(server: str, get: Get, paths: list[str], target: Path) -> None:
    """All lists; the bodies go to a file, a line each."""

    def bodies(path: str) -> list[bytes]:
        found = [get(f"{server}{path}?limit={PAGE}")]
        while match := MORE.search(found[-1], 0, 500):
            found.append(get(f"{server}{path}?limit={PAGE}&continue={match[1].decode()}"))
        return found

    with ThreadPoolExecutor(8) as threads, target.open("wb") as file:
        for found in threads.map(bodies, paths):
            file.writelines(body + b"\n" for body in found)


def decode(source: Path) -> None:
    """Those bodies, decoded into the types that hold only what scheduling needs."""
    import msgspec

    from kwhatif.sources.decoding.kinds import BY_KIND

    gc.disable()
    lists = {
        f"{kind}List".encode(): msgspec.json.Decoder(msgspec.defstruct("Items", [("items", tuple[resource.type, ...])]))  # type: ignore[name-defined]
        for kind, resource in BY_KIND.items()
    }
    with source.open("rb") as file:
        kept = [lists[KIND.search(body, 0, 100)[1]].decode(body) for body in file]  # type: ignore[index]
    assert kept


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["urllib3", kubeconfig, target, *paths]:
            fetch(*with_urllib3(Path(kubeconfig)), paths, Path(target))
        case ["client", kubeconfig, target, *paths]:
            fetch(*with_client(Path(kubeconfig)), paths, Path(target))
        case ["decode", source]:
            decode(Path(source))
