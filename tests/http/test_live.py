"""A live cluster is read as kubectl would read it, and judged as its dump would be."""

from __future__ import annotations

import json
import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import kwhatif
from kwhatif.sources.decoding.kinds import ASKED
from kwhatif.sources.dumps.collected import ReadingStep
from tests import FIXTURES
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import CERTS, TOKEN, FakeAPI, recorded

#: The demo's dump was taken then.
NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
#: What the server knows clients by.
BEARER, CLIENT = f"Bearer {TOKEN}", "organizationName=system:masters/commonName=admin"
NODES = sorted(item["metadata"]["name"] for item in recorded("nodes")["body"]["items"])
PODS = sorted((FIXTURES / "demo" / "pods").glob("*.yaml"))


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: pod.stem)
def test_the_live_cluster_gives_the_report_of_its_dump(kubeconfig: WriteKubeconfig, pod: Path) -> None:
    dump = kwhatif.load(FIXTURES / "demo" / "cluster.yaml", now=NOW)
    live = kwhatif.load_live(kubeconfig=kubeconfig())
    reports = []
    for session in (dump, live):
        report = json.loads(kwhatif.preempt(session, pod).to_json())
        del report["snapshot"]["sources"], report["snapshot"]["takenAt"]
        for decision in report["decisions"]:
            del decision["changes"]  # when the answers were recorded there was no LimitRange
        reports.append(report)
    assert reports[0] == reports[1]


def test_nothing_but_get_is_sent_and_every_list_is_asked_for_in_pages(
    api: FakeAPI, kubeconfig: WriteKubeconfig
) -> None:
    kwhatif.load_live(kubeconfig=kubeconfig())
    assert {method for method, _, _ in api.requests} == {"GET"}
    paths = {urlsplit(path).path for _, path, _ in api.requests}
    assert paths == {"/version"} | {
        asked.path(version)
        for asked in ASKED
        for version in asked.versions
        if version == asked.versions[0] or not asked.is_everywhere
    }
    assert all(parse_qs(urlsplit(path).query)["limit"] == ["500"] for _, path, _ in api.requests if path != "/version")
    assert api.asked("/api/v1/pods") == 3


def test_neither_secrets_nor_configmaps_are_asked_for(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    kwhatif.load_live(kubeconfig=kubeconfig())
    assert not [path for _, path, _ in api.requests if "secret" in path or "configmap" in path]


def test_pages_are_put_together(kubeconfig: WriteKubeconfig) -> None:
    live = kwhatif.load_live(kubeconfig=kubeconfig())
    names = [item["metadata"]["name"] for page in (1, 2, 3) for item in recorded(f"pods-page-{page}")["body"]["items"]]
    assert sorted(name.partition("/")[2] for name in live.state.pods) == sorted(names)
    assert len(names) == 49


def test_progress_is_reported_per_list(kubeconfig: WriteKubeconfig) -> None:
    steps: list[ReadingStep] = []
    kwhatif.load_live(kubeconfig=kubeconfig(), progress=steps.append)
    pods = [(step.objects, step.total, step.done) for step in steps if step.name == "Pod"]
    assert pods == [(20, 49, False), (40, 49, False), (49, None, False), (49, None, True)]
    assert {step.name for step in steps if step.done} == {
        *(asked.name for asked in ASKED),
        "admission",
        "snapshot",
    }


def test_the_report_names_the_context(kubeconfig: WriteKubeconfig) -> None:
    session = kwhatif.load_live(kubeconfig=kubeconfig())
    assert kwhatif.preempt(session).snapshot.sources == ("context demo",)


def test_manifests_without_a_namespace_go_to_that_of_the_context(kubeconfig: WriteKubeconfig, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}))
    session = kwhatif.load_live(kubeconfig=kubeconfig())
    decisions = [kwhatif.schedule(session, manifest, namespace=name).decisions[0].pod for name in (None, "ml")]
    assert decisions == ["shop/p", "ml/p"]


def read_by(api: FakeAPI, **options: Any) -> set[str]:
    """By what the API server knew the client, at each request of reading all of the cluster."""
    assert sorted(each.name for each in kwhatif.load_live(**options).state.nodes) == NODES
    return api.credentials


class TestCredentials:
    @pytest.mark.parametrize("user", [{"token": TOKEN}, {"token": TOKEN, "username": "ann", "password": "x"}])
    def test_a_token(self, api: FakeAPI, kubeconfig: WriteKubeconfig, user: dict[str, str]) -> None:
        assert read_by(api, kubeconfig=kubeconfig(user)) == {BEARER}

    @pytest.mark.parametrize("end", ["", "\n"])
    def test_a_token_file(self, api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path, end: str) -> None:
        (tmp_path / "token").write_text(f"{TOKEN}{end}")
        assert read_by(api, kubeconfig=kubeconfig({"tokenFile": str(tmp_path / "token")})) == {BEARER}

    def test_a_certificate(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        assert read_by(api, kubeconfig=kubeconfig()) == {CLIENT}

    def test_a_token_file_that_is_not_there(self, kubeconfig: WriteKubeconfig) -> None:
        with pytest.raises(kwhatif.InputError, match="cannot be used: /no/such/token: No such file or directory"):
            kwhatif.load_live(kubeconfig=kubeconfig({"tokenFile": "/no/such/token"}))

    @pytest.mark.parametrize(
        ("user", "as_user", "wrong"),
        [
            ({"token": "a\nb: c"}, None, "context demo: the token"),
            ({"token": TOKEN}, "ann\r\nb: c", "--as"),
            ({"token": TOKEN, "as": "ann\0"}, None, "as in kubeconfig"),
            ({"token": TOKEN, "as": "ann", "as-groups": ["a\n"]}, None, "as-groups in kubeconfig"),
        ],
    )
    def test_what_no_header_can_hold(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig, user: dict[str, str], as_user: str | None, wrong: str
    ) -> None:
        with pytest.raises(kwhatif.InputError) as failure:
            kwhatif.load_live(kubeconfig=kubeconfig(user), as_user=as_user)
        assert str(failure.value).startswith(f"{wrong}: holds a line break or another control character")
        assert not api.requests

    def test_names_are_sent_in_utf_8(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        kwhatif.load_live(kubeconfig=kubeconfig(), as_user="Jörg €")
        (sent,) = api.requests[0][2]["Impersonate-User"]
        assert sent.encode("latin-1").decode() == "Jörg €"

    def test_an_exec_plugin(self, api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path) -> None:
        user = exec_plugin(tmp_path, {"status": {"token": TOKEN}})
        assert read_by(api, kubeconfig=kubeconfig(user)) == {BEARER}

    def test_an_exec_plugin_with_a_certificate(self, api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path) -> None:
        certificate = {
            "clientCertificateData": (CERTS / "client.crt").read_text(),
            "clientKeyData": (CERTS / "client.key").read_text(),
        }
        user = exec_plugin(tmp_path, {"status": certificate})
        assert read_by(api, kubeconfig=kubeconfig(user)) == {CLIENT}

    @pytest.mark.parametrize(
        ("plugin", "said"),
        [
            ({"command": "/no/such/plugin"}, "/no/such/plugin: [Errno 2] No such file"),
            ({"command": "/no/such/plugin", "installHint": "install it with: apt"}, "(install it with: apt)"),
            ({"command": "/bin/false"}, "/bin/false: exec: process returned 1"),
            ({"command": "/bin/echo"}, "/bin/echo: exec: failed to decode process output"),
        ],
        ids=["that is not there", "that is not there, with a hint", "that fails", "that talks nonsense"],
    )
    def test_an_exec_plugin_that_fails(self, kubeconfig: WriteKubeconfig, plugin: dict[str, str], said: str) -> None:
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"} | plugin}
        with pytest.raises(kwhatif.ClusterUnreadable) as failure:
            kwhatif.load_live(kubeconfig=kubeconfig(user))
        assert said in str(failure.value)
        assert "context demo: no credentials from the exec plugin" in str(failure.value)

    def test_none_at_all(self, kubeconfig: WriteKubeconfig) -> None:
        with pytest.raises(kwhatif.ClusterUnreadable, match=r"GET /version .*: Unauthorized \(401\): the credentials"):
            kwhatif.load_live(kubeconfig=kubeconfig({}))

    def test_impersonation(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        kwhatif.load_live(kubeconfig=kubeconfig(), as_user="ann", as_groups=["dev", "ops"])
        for _, _, headers in api.requests:
            assert headers["Impersonate-User"] == ["ann"]
            assert headers["Impersonate-Group"] == ["dev", "ops"]

    def test_impersonation_in_the_kubeconfig(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig, token: dict[str, str]
    ) -> None:
        user = token | {"as": "bob", "as-uid": "7", "as-groups": ["g"], "as-user-extra": {"why": ["x", "y"]}}
        kwhatif.load_live(kubeconfig=kubeconfig(user))
        _, _, headers = api.requests[0]
        said = {name: value for name, value in headers.items() if name.startswith("Impersonate")}
        assert said == {
            "Impersonate-User": ["bob"],
            "Impersonate-Uid": ["7"],
            "Impersonate-Group": ["g"],
            "Impersonate-Extra-why": ["x", "y"],
        }

    def test_groups_need_a_user(self, kubeconfig: WriteKubeconfig) -> None:
        with pytest.raises(kwhatif.InputError, match="groups are impersonated with a user only"):
            kwhatif.load_live(kubeconfig=kubeconfig(), as_groups=["dev"])


def exec_plugin(folder: Path, answer: dict[str, object]) -> dict[str, object]:
    """A user whose credentials come from a program that prints `answer`."""
    version = "client.authentication.k8s.io/v1"
    program = folder / "plugin"
    text = json.dumps({"apiVersion": version, "kind": "ExecCredential"} | answer)
    program.write_text(f"#!{sys.executable}\nprint({text!r})\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": version, "command": str(program), "interactiveMode": "Never"}}


class TestKubeconfig:
    def test_the_first_file_of_a_list_chooses_the_context(
        self, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        other = {
            "current-context": "elsewhere",
            "contexts": [{"name": "elsewhere", "context": {"cluster": "d", "user": "v"}}],
            "clusters": [{"name": "d", "cluster": {"server": "https://127.0.0.1:1"}}],
        }
        (tmp_path / "other").write_text(json.dumps(other))
        files = [kubeconfig(), str(tmp_path / "other"), str(tmp_path / "absent")]
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files))
        assert kwhatif.preempt(kwhatif.load_live()).snapshot.sources == ("context demo",)
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files[::-1]))
        assert kwhatif.preempt(kwhatif.load_live(context="demo")).snapshot.sources == ("context demo",)
        with pytest.raises(
            kwhatif.ClusterUnreadable, match=r"https://127.0.0.1:1 \(context elsewhere\): no connection"
        ):
            kwhatif.load_live()

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("", "chooses no context"),
            ("{", "is not a kubeconfig"),
            ("- a", "is not a kubeconfig: it is not a map"),
            ("contexts: x", "is not a kubeconfig: contexts is not a list"),
            ("contexts: [{context: {}}]", "an entry of contexts has no name"),
            ("contexts: [{name: a}]", "chooses no context (choose one with --context; it has a)"),
            ("{contexts: [{name: b}, {name: a}], current-context: x}", "has no context 'x' (it has a, b)"),
            ("{contexts: [{name: a}], current-context: a}", "context a names a cluster that is not there"),
            (
                "{contexts: [{name: a, context: {cluster: c}}], current-context: a, clusters: [{name: c}]}",
                "the cluster of context a has no server",
            ),
            (
                "{contexts: [{name: a, context: {cluster: c}}], current-context: a,"
                " clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: /no/such}}]}",
                "cannot be used: File does not exist: /no/such",
            ),
        ],
    )
    def test_one_that_cannot_be_used(self, tmp_path: Path, content: str, problem: str) -> None:
        path = tmp_path / "broken"
        path.write_text(content)
        with pytest.raises(kwhatif.InputError) as failure:
            kwhatif.load_live(kubeconfig=path)
        assert problem in str(failure.value)
        assert str(path) in str(failure.value)

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(kwhatif.InputError, match="cannot be read: No such file or directory"):
            kwhatif.load_live(kubeconfig=tmp_path / "absent")

    def test_none_and_no_pod_either(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        with pytest.raises(kwhatif.ClusterUnreadable, match="no cluster to read: there is no kubeconfig"):
            kwhatif.load_live()

    def test_a_pod_without_a_token(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
        with pytest.raises(kwhatif.ClusterUnreadable, match="in this pod: .*does its service account mount a token"):
            kwhatif.load_live()

    def test_a_pod_with_a_token(self, api: FakeAPI, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from kubernetes.config import incluster_config

        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(urlsplit(url).port))
        (tmp_path / "token").write_text(TOKEN)
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
        monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(CERTS / "ca.crt"))
        session = kwhatif.load_live()
        assert kwhatif.preempt(session).snapshot.sources == ("in-cluster",)
        assert api.credentials == {BEARER.replace("B", "b")}
