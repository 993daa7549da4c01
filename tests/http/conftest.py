"""A fake API server, and kubeconfigs that name it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.fake_api import CERTS, TOKEN, FakeAPI

WriteKubeconfig = Callable[..., str]


@pytest.fixture
def api() -> FakeAPI:
    return FakeAPI()


@pytest.fixture
def url(api: FakeAPI) -> Iterator[str]:
    with api.serve() as address:
        yield address


def kubeconfig_writer(folder: Path, url: str) -> WriteKubeconfig:
    """What writes kubeconfigs for the server: by default with a client certificate, in context `demo`."""

    def write(user: dict[str, Any] | None = None, name: str = "config", **cluster: Any) -> str:
        certificate = {"client-certificate": str(CERTS / "client.crt"), "client-key": str(CERTS / "client.key")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "demo",
            "contexts": [{"name": "demo", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
            "clusters": [
                {"name": "c", "cluster": {"server": url, "certificate-authority": str(CERTS / "ca.crt")} | cluster}
            ],
            "users": [{"name": "u", "user": certificate if user is None else user}],
        }
        path = folder / name
        path.write_text(json.dumps(config))
        return str(path)

    return write


@pytest.fixture
def kubeconfig(tmp_path: Path, url: str) -> WriteKubeconfig:
    return kubeconfig_writer(tmp_path, url)


@pytest.fixture
def token() -> dict[str, str]:
    return {"token": TOKEN}
