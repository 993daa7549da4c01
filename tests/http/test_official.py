"""The official client does authentication, without the packages around it; who asks for those gets them."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

import pytest

import kwhatif
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import CERTS, FakeAPI, answer

LOAD = "import sys, kwhatif; kwhatif.load_live(kubeconfig=sys.argv[1])"
HEAVY = {"kubernetes.client.api_client", "kubernetes.client.models", "pydantic", "requests", "kubernetes.dynamic"}
DISCOVERY = "/.well-known/openid-configuration"


def run(kubeconfig: str, program: str) -> str:
    """What a process of its own prints, that has read a live cluster before."""
    command = [sys.executable, "-c", f"{LOAD}\n{program}", kubeconfig]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_heavy_is_imported(kubeconfig: WriteKubeconfig) -> None:
    imported = set(json.loads(run(kubeconfig(), "import json; print(json.dumps(sorted(sys.modules)))")))
    assert "kubernetes.config.kube_config" in imported
    assert not imported & HEAVY


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("import kubernetes; print(kubernetes.__version__ != '', kubernetes.client.V1Pod().kind)", "True None"),
        ("from kubernetes import client, watch; print(client.ApiClient.__name__, watch.Watch.__name__)", "ApiClient Watch"),
        ("from kubernetes.client import Configuration as C, rest; print(C().verify_ssl, rest.__name__)", "True kubernetes.client.rest"),
        ("from kubernetes.config import new_client_from_config as n; print(type(n(sys.argv[1])).__name__)", "ApiClient"),
        ("from requests_oauthlib import OAuth2Session; print(OAuth2Session.__name__)", "OAuth2Session"),
        ("from oauthlib.oauth2 import LegacyApplicationClient as L; print(L.__name__)", "LegacyApplicationClient"),
        ("import kubernetes; print(hasattr(kubernetes, 'absent'))", "False"),
    ],
)  # fmt: skip
def test_other_code_of_the_process_gets_the_client_as_it_is(kubeconfig: WriteKubeconfig, asked: str, got: str) -> None:
    assert run(kubeconfig(), asked) == got


def test_a_client_that_was_imported_before_is_used(kubeconfig: WriteKubeconfig) -> None:
    program = "from kubernetes.client import ApiClient\nfrom kwhatif.sources.live import official"
    check = "print(official.Configuration is sys.modules['kubernetes.client'].Configuration, ApiClient.__module__)"
    command = [sys.executable, "-c", f"{program}\n{LOAD}\n{check}", kubeconfig()]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "True kubernetes.client.api_client"


def jwt(expires: int) -> str:
    """A token that looks like an OpenID provider's; nobody here looks at the signature."""
    parts = ({"alg": "none"}, {"exp": expires}, {"signed": False})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


class TestOpenID:
    NOW, LONG_AGO = jwt(4_000_000_000), jwt(1_000_000_000)

    @staticmethod
    def user(issuer: str, token: str) -> dict[str, Any]:
        config = {"idp-issuer-url": issuer, "client-id": "c", "client-secret": "s", "id-token": token}
        config |= {"refresh-token": "r", "idp-certificate-authority": str(CERTS / "ca.crt")}
        return {"auth-provider": {"name": "oidc", "config": config}}

    def test_a_token_that_is_good(self, api: FakeAPI, url: str, kubeconfig: WriteKubeconfig) -> None:
        api.token = self.NOW
        assert kwhatif.load_live(kubeconfig=kubeconfig(self.user(url, self.NOW))).snapshot.nodes
        assert not api.asked(DISCOVERY)

    def test_one_that_has_expired_is_renewed_and_kept(
        self, api: FakeAPI, url: str, kubeconfig: WriteKubeconfig
    ) -> None:
        api.token = self.NOW
        api.always[DISCOVERY] = answer(200, {"token_endpoint": f"{url}/token"})
        renewed = {"access_token": "a", "token_type": "bearer", "id_token": self.NOW, "refresh_token": "r2"}
        api.always["/token"] = answer(200, renewed)
        path = kubeconfig(self.user(url, self.LONG_AGO))
        assert kwhatif.load_live(kubeconfig=path).snapshot.nodes
        assert (api.asked(DISCOVERY), api.asked("/token")) == (1, 1)
        assert kwhatif.load_live(kubeconfig=path).snapshot.nodes
        assert api.asked("/token") == 1

    @pytest.mark.parametrize(
        ("path", "told"),
        [
            (DISCOVERY, r"Unauthorized \(401\): .* log in again"),
            ("/token", "context demo: no credentials: .*missing_token"),
        ],
    )
    def test_a_provider_that_does_not_answer(
        self, api: FakeAPI, url: str, kubeconfig: WriteKubeconfig, path: str, told: str
    ) -> None:
        api.always[DISCOVERY] = answer(200, {"token_endpoint": f"{url}/token"})
        api.always[path] = answer(500, b"broken", "text/plain")
        with pytest.raises(kwhatif.ClusterUnreadable, match=told):
            kwhatif.load_live(kubeconfig=kubeconfig(self.user(url, self.LONG_AGO)))
