"""Users that an OpenID provider knows: their tokens are used, and renewed when they have expired."""

import base64
import json
from typing import Any

import pytest

import kwhatif
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import CERTS, FakeAPI, answer

DISCOVERY = "/.well-known/openid-configuration"


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
        kwhatif.load_live(kubeconfig=kubeconfig(self.user(url, self.NOW)))
        assert api.credentials == {f"Bearer {self.NOW}"}
        assert not api.asked(DISCOVERY)

    def test_one_that_has_expired_is_renewed_and_kept(
        self, api: FakeAPI, url: str, kubeconfig: WriteKubeconfig
    ) -> None:
        api.token = self.NOW
        api.always[DISCOVERY] = answer(200, {"token_endpoint": f"{url}/token"})
        renewed = {"access_token": "a", "token_type": "bearer", "id_token": self.NOW, "refresh_token": "r2"}
        api.always["/token"] = answer(200, renewed)
        path = kubeconfig(self.user(url, self.LONG_AGO))
        kwhatif.load_live(kubeconfig=path)
        assert api.credentials == {f"Bearer {self.NOW}"}
        assert (api.asked(DISCOVERY), api.asked("/token")) == (1, 1)
        kwhatif.load_live(kubeconfig=path)
        assert api.asked("/token") == 1

    @pytest.mark.parametrize(
        ("path", "said"),
        [
            (DISCOVERY, r"Unauthorized \(401\): .* log in again"),
            ("/token", "context demo: no credentials: .*missing_token"),
        ],
    )
    def test_a_provider_that_does_not_answer(
        self, api: FakeAPI, url: str, kubeconfig: WriteKubeconfig, path: str, said: str
    ) -> None:
        api.always[DISCOVERY] = answer(200, {"token_endpoint": f"{url}/token"})
        api.always[path] = answer(500, b"broken", "text/plain")
        with pytest.raises(kwhatif.ClusterUnreadable, match=said):
            kwhatif.load_live(kubeconfig=kubeconfig(self.user(url, self.LONG_AGO)))
