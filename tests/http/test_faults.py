"""Whatever goes wrong on the way to the API server ends in a clear message or in the right answer, never in a wrong one."""

import gzip
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from email.utils import formatdate
from itertools import count, cycle
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any

import pytest
from urllib3.exceptions import NewConnectionError, SSLError

import kwhatif
from kwhatif.sources.decoding.kinds import ASKED, ESSENTIAL, RESOURCES
from kwhatif.sources.live import LiveOptions, lists, read, request
from kwhatif.sources.live.connection import connect
from tests import FIXTURES
from tests.cli.running import run
from tests.http.conftest import WriteKubeconfig, kubeconfig_writer
from tests.http.fake_api import (
    CERTS,
    Behaviour,
    FakeAPI,
    answer,
    cut,
    cut_chunk,
    drip,
    drip_chunk_size,
    drip_continue,
    drip_headers,
    drop,
    endless,
    hang,
    inflated,
    pages,
    recorded,
    status,
)

PODS = "/api/v1/pods"
CHECKOUT = FIXTURES / "demo" / "pods" / "inference.yaml"
FORBIDDEN = answer(403, recorded("forbidden")["body"])


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(request, "_MAX_PAUSE", 0.001)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of the demo pod when nothing goes wrong."""
    with FakeAPI().serve() as url:
        return report(kubeconfig_writer(tmp_path_factory.mktemp("whole"), url))


def report(kubeconfig: WriteKubeconfig, **options: Any) -> str:
    return kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig(), **options), CHECKOUT).to_json()


def flat(printed: str) -> str:
    """What was printed, however it was folded."""
    return " ".join(printed.split())


def caveats(kubeconfig: WriteKubeconfig) -> tuple[str, ...]:
    return kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig()), CHECKOUT).caveats


def error(kubeconfig: WriteKubeconfig, **options: Any) -> str:
    with pytest.raises(kwhatif.ClusterUnreadable) as failure:
        report(kubeconfig, **options)
    assert failure.value.exit_code == 4
    return str(failure.value)


PASSING: dict[str, Behaviour] = {
    "a connection dropped before the answer": drop,
    "a connection dropped in the middle of the body": cut(recorded("pods-page-1")["body"]),
    "a body cut short that did not say its length": cut(recorded("pods-page-1")["body"], said=False),
    "a chunk cut short": cut_chunk,
    "a body that ends too soon": answer(200, b'{"kind": "PodList", "items": [{"metadata"'),
    "an empty body": answer(200, b""),
    "a compressed body cut short": answer(200, gzip.compress(b'{"kind": "PodList"}')[:-12], Content_Encoding="gzip"),
    "a compressed body that is none": answer(200, b'{"kind": "PodList"}', Content_Encoding="gzip"),
    "too many requests": answer(429, status(429, "TooManyRequests", "slow down")),
    "too many requests, and when to come again": answer(429, b"slow down", "text/plain", Retry_After="0"),
    "an internal error": answer(500, status(500, "InternalError", "etcdserver: leader changed")),
    "a bad gateway": answer(502, b"<html>bad gateway</html>", "text/html"),
    "an unavailable server": answer(503, status(503, "ServiceUnavailable", "starting")),
    "a timeout of the server's own": answer(504, status(504, "Timeout", "etcd: request timed out")),
}


@pytest.mark.parametrize("behaviour", PASSING.values(), ids=PASSING)
def test_a_passing_fault_changes_nothing(
    api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str, behaviour: Behaviour
) -> None:
    paths = ["/version", PODS, "/apis/policy/v1/poddisruptionbudgets"]
    for path in paths:
        api.next(path, behaviour, behaviour)
    assert report(kubeconfig) == whole
    assert not any(api.behaviours[path] for path in paths)


@pytest.mark.parametrize("behaviour", PASSING.values(), ids=PASSING)
def test_a_lasting_fault_is_an_error_after_some_tries(
    api: FakeAPI, kubeconfig: WriteKubeconfig, behaviour: Behaviour
) -> None:
    api.always[PODS] = behaviour
    said = error(kubeconfig)
    assert said.startswith("the cluster could not be read: GET /api/v1/pods of https://127.0.0.1:")
    assert said.endswith(f", {request.MAX_TRIES} tries")
    assert api.asked(PODS) == request.MAX_TRIES


def test_pages_may_be_compressed(api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str) -> None:
    pages = [json.dumps(page).encode() for page in api.pages[PODS].values()]
    api.next(PODS, *[answer(200, gzip.compress(page), Content_Encoding="gzip") for page in pages])
    assert report(kubeconfig) == whole
    assert not api.behaviours[PODS]


@pytest.mark.parametrize(("disabled", "asked"), [(False, "gzip"), (True, "identity")])
def test_compression_is_asked_for(api: FakeAPI, kubeconfig: WriteKubeconfig, disabled: bool, asked: str) -> None:
    kwhatif.load_live(kubeconfig=kubeconfig(**{"disable-compression": disabled}))
    assert {word for _, _, headers in api.requests for word in headers["Accept-Encoding"]} == {asked}


def test_words_of_a_lasting_fault_are_the_servers(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    api.always[PODS] = PASSING["an internal error"]
    assert "etcdserver: leader changed (500)" in error(kubeconfig)


@pytest.mark.parametrize("in_seconds", [True, False])
def test_retry_after_is_honoured(api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str, in_seconds: bool) -> None:
    when = "1" if in_seconds else formatdate(time.time() + 2, usegmt=True)
    api.next(PODS, answer(429, b"", Retry_After=when))
    started = time.monotonic()
    assert report(kubeconfig) == whole
    assert time.monotonic() - started >= 0.9


def test_a_server_that_wants_too_much_patience_is_not_waited_for(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    api.next(PODS, answer(429, status(429, "TooManyRequests", "come back tomorrow"), Retry_After="86400"))
    assert error(kubeconfig).endswith("come back tomorrow (429)")


class TestExpiredContinue:
    def test_goes_on_with_the_token_of_the_answer(self, api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str) -> None:
        pages = api.pages[PODS]
        first, second, third = pages.values()
        token = recorded("continue-expired")["body"]["metadata"]["continue"]
        api.pages[PODS] = {"": first, token: second, second["metadata"]["continue"]: third}
        assert caveats(kubeconfig) == (
            "the list of pods took longer than the server keeps a state: it is as of two moments",
        )
        assert json.loads(report(kubeconfig))["decisions"] == json.loads(whole)["decisions"]

    def test_an_object_that_comes_twice_then_counts_once_and_as_it_was_last(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig
    ) -> None:
        first, second, third = api.pages[PODS].values()
        moved = json.loads(json.dumps(first["items"][0]))
        moved["spec"]["nodeName"] = "general-a1"
        token = recorded("continue-expired")["body"]["metadata"]["continue"]
        later = second | {"items": [*second["items"], moved]}
        api.pages[PODS] = {"": first, token: later, second["metadata"]["continue"]: third}
        session = kwhatif.load_live(kubeconfig=kubeconfig())
        assert len(session.state.pods) == 49
        key = f"{moved['metadata']['namespace']}/{moved['metadata']['name']}"
        assert session.state.pods[key].pod.spec.node_name == "general-a1"

    def test_begins_again_where_there_is_no_token(self, api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str) -> None:
        gone = answer(410, status(410, "Expired", "too old"))
        served = api.pages[PODS][""]
        api.next(PODS, answer(200, served), gone)
        before = api.asked(PODS)
        assert report(kubeconfig) == whole
        assert api.asked(PODS) - before == 2 + 3

    def test_what_was_listed_before_the_new_beginning_is_forgotten(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str
    ) -> None:
        ghost = json.loads(json.dumps(api.pages[PODS][""]["items"][0]))
        ghost["metadata"]["name"] = "deleted-meanwhile"
        ghost["spec"]["nodeName"] = "gpu-a1"
        page = api.pages[PODS][""] | {"items": [ghost]}
        api.next(PODS, answer(200, page), answer(410, b"gone", "text/plain"))
        assert report(kubeconfig) == whole

    @pytest.mark.parametrize("token", ["", "more"])
    def test_not_for_ever(self, api: FakeAPI, kubeconfig: WriteKubeconfig, token: str) -> None:
        api.always[PODS] = answer(410, status(410, "Expired", "too old") | {"metadata": {"continue": token}})
        assert "too old (410)" in error(kubeconfig)
        assert api.asked(PODS) == lists.MAX_RESTARTS + 1


class TestForbidden:
    def test_budgets(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always["/apis/policy/v1/poddisruptionbudgets"] = FORBIDDEN
        (said,) = caveats(kubeconfig)
        assert said == (
            "no permission to list poddisruptionbudgets in policy: budgets count as if there were none, so whether an"
            " eviction violates one is unknown, and with it whom the scheduler would rather spare"
        )

    def test_without_budgets_none_is_said_to_be_kept(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always["/apis/policy/v1/poddisruptionbudgets"] = FORBIDDEN
        command = f"kwhatif preempt {CHECKOUT} --kubeconfig {kubeconfig()}"
        assert (
            "2 pods of Deployment ml/trainer (priority -100) on gpu-b1, and no budget is known, so whether that violates one is unknown"
            in flat(run(f"{command} -q").stdout)
        )
        assert json.loads(run(f"{command} -o json").stdout)["snapshot"]["podDisruptionBudgets"] is None

    def test_unread_kinds_are_known_to_the_cluster(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always["/apis/policy/v1/poddisruptionbudgets"] = FORBIDDEN
        assert set(kwhatif.load_live(kubeconfig=kubeconfig()).cluster.facts.unread) == {"PodDisruptionBudget"}

    def test_everything_but_nodes_and_pods(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        for resource in RESOURCES:
            if resource.kind not in ESSENTIAL:
                api.always[resource.path] = FORBIDDEN
        said = kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig())).caveats
        assert len(said) == 8
        for resource in RESOURCES:
            if resource.kind not in ESSENTIAL and resource.version == "v1":
                assert any(f"{resource.plural}" in caveat for caveat in said)

    def test_classes_that_may_not_be_known_are_said_to_be_unread_and_known_by_the_pods_that_have_them(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig
    ) -> None:
        api.always["/apis/scheduling.k8s.io/v1/priorityclasses"] = FORBIDDEN
        made = kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig()), CHECKOUT)
        assert made.decisions[0].outcome == "Preempts"
        assert any("no permission to list priorityclasses" in caveat for caveat in made.caveats)

    @pytest.mark.parametrize("path", ["/api/v1/nodes", PODS])
    def test_nodes_and_pods(self, api: FakeAPI, kubeconfig: WriteKubeconfig, path: str) -> None:
        api.always[path] = answer(403, recorded("unauthorized")["body"])
        said = error(kubeconfig)
        assert 'pods is forbidden: User "system:anonymous" cannot list resource "pods"' in said
        assert "`kwhatif rbac` prints the role that is needed" in said

    @pytest.mark.parametrize(
        "words",
        [
            'nodes is forbidden: User "u" cannot impersonate-on:user-info:list resource "nodes" in API group ""',
            'users "ann" is forbidden: User "u" cannot impersonate resource "users" in API group ""',
        ],
        ids=["since 1.36", "before"],
    )
    def test_impersonation_is_another_permission(self, api: FakeAPI, kubeconfig: WriteKubeconfig, words: str) -> None:
        api.always["/api/v1/nodes"] = answer(403, status(403, "Forbidden", words))
        said = error(kubeconfig)
        assert f"{words} (403): impersonating (--as, or `as` in kubeconfig) needs a permission of its own" in said

    def test_strictly_it_is_an_error(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always["/apis/policy/v1/poddisruptionbudgets"] = FORBIDDEN
        assert "no permission to list poddisruptionbudgets in policy" in error(kubeconfig, strict=True)

    def test_strictly_nothing_is_wrong_with_a_whole_cluster(self, kubeconfig: WriteKubeconfig, whole: str) -> None:
        assert report(kubeconfig, strict=True) == whole


class TestNotServed:
    @pytest.mark.parametrize(
        "body",
        [answer(404, recorded("group-not-served")["body"]), answer(404, b"404 page not found\n", "text/plain")],
        ids=["as a Status", "as text"],
    )
    def test_is_empty(self, api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str, body: Behaviour) -> None:
        for resource in RESOURCES:
            if resource.group == "resource.k8s.io":
                api.always[resource.path] = body
        assert report(kubeconfig, strict=True) == whole

    def test_a_server_without_pods_is_no_kubernetes(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always[PODS] = answer(404, b"not here", "text/plain")
        assert "not here (404): is this the address of a Kubernetes API server?" in error(kubeconfig)


class TestVersion:
    @pytest.mark.parametrize(
        ("version", "rules", "said"),
        [
            ({"major": "1", "minor": "36+"}, "1.36", ()),
            ({"major": "1", "minor": "34"}, "1.34", ()),
            ({"major": "1", "minor": "30"}, "1.33", ("1.30",)),
            ({"major": "1", "minor": "99"}, "1.37", ("1.99",)),
        ],
    )
    def test_the_rules_are_those_of_the_clusters_version_or_the_nearest(
        self,
        api: FakeAPI,
        kubeconfig: WriteKubeconfig,
        monkeypatch: pytest.MonkeyPatch,
        version: dict[str, str],
        rules: str,
        said: tuple[str, ...],
    ) -> None:
        monkeypatch.delenv("KWHATIF_KUBERNETES_VERSION")
        api.always["/version"] = answer(200, version)
        report = kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig()), CHECKOUT)
        assert report.scheduler.version == rules
        assert len(report.caveats) == len(said)
        assert all(words in caveat for words, caveat in zip(said, report.caveats, strict=True))

    def test_one_that_may_not_be_known(self, api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str) -> None:
        api.always["/version"] = FORBIDDEN
        assert report(kubeconfig) == whole


NONSENSE: dict[str, tuple[Behaviour, str]] = {
    "a login page": (answer(200, b"<html>log in</html>", "text/html"), "the answer is text/html, not JSON"),
    "a redirect": (answer(302, b"", Location="https://127.0.0.1/login"), "redirected (302)"),
    "another list": (answer(200, recorded("nodes")["body"]), "expected a PodList of v1, got v1/NodeList"),
    "another version": (
        answer(200, recorded("nodes")["body"] | {"kind": "PodList", "apiVersion": "v2"}),
        "expected a PodList of v1, got v2/PodList",
    ),
    "no list": (answer(200, {"some": "thing"}), "expected a PodList of v1, got something else"),
    "entries that are none": (
        answer(200, {"kind": "PodList", "apiVersion": "v1", "items": {"a": 1}}),
        "the answer makes no sense",
    ),
    "a broken pod": (
        answer(200, {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "p"}, "spec": 3}]}),
        "(Pod p): spec: expected an object",
    ),
    "the same page forever": (
        answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "x"}, "items": []}),
        "the server answers the same pages over and over",
    ),
    "a bad request": (answer(400, status(400, "BadRequest", "what?")), "what? (400)"),
}


@pytest.mark.parametrize(("behaviour", "said"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_an_error(api: FakeAPI, kubeconfig: WriteKubeconfig, behaviour: Behaviour, said: str) -> None:
    api.always[PODS] = behaviour
    assert said in error(kubeconfig)


def test_null_entries_are_none(api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str) -> None:
    api.always["/api/v1/services"] = answer(200, {"kind": "ServiceList", "apiVersion": "v1", "items": None})
    assert report(kubeconfig) == whole


@pytest.mark.parametrize("behaviour", [hang, drip, drip_headers, drip_continue, drip_chunk_size])
@pytest.mark.parametrize("path", ["/version", PODS])
def test_a_server_that_hangs_is_given_up(
    api: FakeAPI, kubeconfig: WriteKubeconfig, path: str, behaviour: Behaviour
) -> None:
    api.always[path] = behaviour
    assert "no answer in time (see --request-timeout)" in error(kubeconfig, request_timeout="500ms")
    assert api.asked(path) <= 1  # where the machine is busy, another answer may be the one that is late


ENDLESS: dict[str, tuple[Behaviour, str]] = {
    "a body": (endless, "the answer is longer than 4 MiB"),
    "a body that inflates": (inflated, "the answer is longer than 4 MiB"),
    "tokens in a circle": (pages("Pod", cycle("abc")), "the server answers the same pages over and over"),
    "empty pages": (
        pages("Pod", map(str, count())),
        "the server answers empty pages, 101 by now, and says that more follow",
    ),
}


@pytest.mark.parametrize(("behaviour", "said"), ENDLESS.values(), ids=ENDLESS)
def test_what_has_no_end_is_an_error(
    api: FakeAPI, kubeconfig: WriteKubeconfig, behaviour: Behaviour, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "MAX_ANSWER", 4 << 20)
    api.always[PODS] = behaviour
    assert said in error(kubeconfig)


def test_a_list_may_only_be_so_long(api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MAX_PAGES", 1)
    assert "the list is longer than 1 pages or 4 GiB" in error(kubeconfig)


def test_no_more_patience_is_asked_for_than_a_request_may_take(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    api.always[PODS] = answer(429, b"slow down", "text/plain", Retry_After="30")
    started = time.monotonic()
    assert "slow down (429)" in error(kubeconfig, request_timeout="5s")
    assert time.monotonic() - started < 5


PLUGINS = {
    "never ends": ("sleep 60", "the plugin did not end within 1 seconds"),
    "never ends, and its child holds the pipe": ("sleep 60 & sleep 60", "the plugin did not end within 1 seconds"),
    "prints forever": ("yes", "the plugin printed more than 1048576 characters"),
    "complains forever": ("yes >&2", "the plugin printed more than 1048576 characters"),
}


@pytest.mark.parametrize(("script", "said"), PLUGINS.values(), ids=PLUGINS)
def test_an_exec_plugin_without_an_end(kubeconfig: WriteKubeconfig, script: str, said: str) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", script],
        "interactiveMode": "Never",
    }
    started = time.monotonic()
    with pytest.raises(kwhatif.ClusterUnreadable) as failure:
        kwhatif.load_live(kubeconfig=kubeconfig({"exec": plugin}), request_timeout="1s")
    assert said in str(failure.value)
    assert time.monotonic() - started < 10


FILES = [("tokenFile", "is not a file"), ("client-certificate", "is not a file"), ("client-key", "is not a file")]


@pytest.mark.parametrize(("field", "said"), FILES, ids=[field for field, _ in FILES])
def test_a_device_is_not_a_credential(kubeconfig: WriteKubeconfig, field: str, said: str) -> None:
    with pytest.raises(kwhatif.InputError, match=f"/dev/zero: {said} .{field} in "):
        kwhatif.load_live(kubeconfig=kubeconfig({field: "/dev/zero"}))


def test_nor_is_one_an_authority(kubeconfig: WriteKubeconfig) -> None:
    with pytest.raises(kwhatif.InputError, match="/dev/zero: is not a file .certificate-authority in "):
        kwhatif.load_live(kubeconfig=kubeconfig(**{"certificate-authority": "/dev/zero"}))


@pytest.mark.parametrize("server", ["https://ann:secret@127.0.0.1:1", "ftp://ann:secret@127.0.0.1", "ann:secret@[::1"])
def test_a_password_in_the_servers_address_is_not_shown(kubeconfig: WriteKubeconfig, server: str) -> None:
    with pytest.raises((kwhatif.ClusterUnreadable, kwhatif.InputError)) as failure:
        kwhatif.load_live(kubeconfig=kubeconfig(server=server))
    assert "secret" not in str(failure.value)


def test_a_failure_after_the_end_is_not_reported() -> None:
    """Several lists fail at the same time: the first failure is reported, the others must not end in a traceback."""
    asked: list[str] = []

    class Failing:
        def get(self, path: str, read: object) -> None:
            asked.append(path)
            raise kwhatif.ClusterUnreadable("no answer in time")

        def describe(self, path: str) -> str:
            return path

    todo: Queue[Any] = Queue()
    todo.put(ASKED[0])
    happened: Queue[Any] = Queue()
    stop = Event()
    read._work(Failing(), todo, happened, stop)  # type: ignore[arg-type]
    assert isinstance(happened.get_nowait(), kwhatif.ClusterUnreadable)
    stop.set()
    todo.put(ASKED[0])
    read._work(Failing(), todo, happened, stop)  # type: ignore[arg-type]
    assert len(asked) == 2
    assert happened.empty()


def test_nothing_is_asked_after_the_end(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    """A connection that is made when all are closed would stay open."""
    stop = Event()
    stop.set()
    connection = connect(LiveOptions.of(kubeconfig=kubeconfig()))
    with pytest.raises(request.Cancelled):
        request.Client(connection, 1.0, stop).get(PODS, json.loads)
    assert not api.requests


class TestNoConnection:
    def test_nobody_listens(self, kubeconfig: WriteKubeconfig) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            path = kubeconfig(server=f"https://127.0.0.1:{taken.getsockname()[1]}")
            with pytest.raises(kwhatif.ClusterUnreadable, match="no connection: Connection refused .is the API server"):
                kwhatif.load_live(kubeconfig=path)

    def test_nobody_listens_any_more(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig, whole: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A server that has answered before may be about to come back: an API server that restarts."""
        from urllib3.connection import HTTPSConnection

        connect = HTTPSConnection.connect
        refused: list[HTTPSConnection] = []

        def refuse_twice(connection: HTTPSConnection) -> None:
            if api.asked("/version") and len(refused) < 2:
                refused.append(connection)
                raise NewConnectionError(connection, "Connection refused")
            connect(connection)

        monkeypatch.setattr(HTTPSConnection, "connect", refuse_twice)
        assert report(kubeconfig) == whole
        assert len(refused) == 2

    def test_no_such_name(self, kubeconfig: WriteKubeconfig) -> None:
        path = kubeconfig(server="https://no-such-host.invalid")
        with pytest.raises(kwhatif.ClusterUnreadable, match="the name cannot be resolved"):
            kwhatif.load_live(kubeconfig=path)

    def test_a_certificate_of_somebody_else(self, kubeconfig: WriteKubeconfig) -> None:
        path = kubeconfig(**{"certificate-authority": str(CERTS / "other-ca.crt")})
        with pytest.raises(
            kwhatif.ClusterUnreadable, match="its certificate is not trusted; see certificate-authority"
        ):
            kwhatif.load_live(kubeconfig=path)

    def test_a_handshake_that_broke_is_tried_again(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sends, real = count(), request.Client._send

        def send(client: request.Client, path: str) -> Any:
            if next(sends) == 0:
                raise SSLError("[SSL: TLSV1_ALERT_DECODE_ERROR] tlsv1 alert decode error")
            return real(client, path)

        monkeypatch.setattr(request.Client, "_send", send)
        monkeypatch.setattr(request, "_FIRST_PAUSE", 0.01)
        kwhatif.load_live(kubeconfig=kubeconfig())
        # The first request twice: /version, then every list and its pages.
        assert next(sends) == 1 + len(api.requests)

    def test_a_certificate_for_another_name(self, kubeconfig: WriteKubeconfig) -> None:
        path = kubeconfig(**{"tls-server-name": "kubernetes.default"})
        with pytest.raises(
            kwhatif.ClusterUnreadable, match="its certificate is for another name; see server and tls-s"
        ):
            kwhatif.load_live(kubeconfig=path)

    def test_tls_server_name(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        kwhatif.load_live(kubeconfig=kubeconfig(**{"tls-server-name": "localhost"}))
        assert api.server_names == {"localhost"}

    def test_a_certificate_that_is_not_looked_at(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        trusted = {"certificate-authority": str(CERTS / "other-ca.crt")}
        with pytest.raises(kwhatif.ClusterUnreadable, match="not trusted"):
            kwhatif.load_live(kubeconfig=kubeconfig(**trusted))
        assert not api.requests
        kwhatif.load_live(kubeconfig=kubeconfig(**trusted, **{"insecure-skip-tls-verify": True}))
        assert api.asked("/api/v1/nodes") == 1

    def test_a_server_without_tls(self, kubeconfig: WriteKubeconfig) -> None:
        from http.server import BaseHTTPRequestHandler, HTTPServer
        from threading import Thread

        with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
            thread = Thread(target=server.handle_request)
            thread.start()
            path = kubeconfig(server=f"https://127.0.0.1:{server.server_port}")
            with pytest.raises(kwhatif.ClusterUnreadable, match="no secure connection: it does not speak TLS"):
                kwhatif.load_live(kubeconfig=path)
            thread.join()

    def test_a_broken_client_certificate(self, kubeconfig: WriteKubeconfig) -> None:
        user = {"client-certificate": str(CERTS / "README.md"), "client-key": str(CERTS / "client.key")}
        with pytest.raises(kwhatif.ClusterUnreadable, match="no secure connection"):
            kwhatif.load_live(kubeconfig=kubeconfig(user))

    def test_a_key_with_a_password(self, kubeconfig: WriteKubeconfig) -> None:
        """Nobody is asked for it on the terminal."""
        user = {"client-certificate": str(CERTS / "client.crt"), "client-key": str(CERTS / "encrypted.key")}
        with pytest.raises(kwhatif.ClusterUnreadable, match="a certificate or key in kubeconfig cannot be read"):
            kwhatif.load_live(kubeconfig=kubeconfig(user))

    def test_the_systems_certificates_count_where_kubeconfig_names_none(self, kubeconfig: WriteKubeconfig) -> None:
        path = Path(kubeconfig())
        config = json.loads(path.read_text())
        del config["clusters"][0]["cluster"]["certificate-authority"]
        path.write_text(json.dumps(config))
        with pytest.raises(kwhatif.ClusterUnreadable, match="its certificate is not trusted"):
            kwhatif.load_live(kubeconfig=path)

    def test_certificates_are_read_once(self, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[ssl.SSLContext] = []
        original = ssl.SSLContext.load_verify_locations

        def load(context: ssl.SSLContext, *args: Any, **named: Any) -> None:
            made.append(context)
            original(context, *args, **named)

        monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", load)
        kwhatif.load_live(kubeconfig=kubeconfig())
        assert len(made) == 1

    def test_a_proxy_that_is_not_there(self, kubeconfig: WriteKubeconfig) -> None:
        path = kubeconfig(**{"proxy-url": "http://ann:secret@127.0.0.1:1"})
        with pytest.raises(kwhatif.ClusterUnreadable) as failure:
            kwhatif.load_live(kubeconfig=path)
        assert "the proxy 127.0.0.1:1 does not answer: Connection refused" in str(failure.value)
        assert "secret" not in str(failure.value)

    def test_certificates_that_are_none(self, kubeconfig: WriteKubeconfig) -> None:
        path = kubeconfig(**{"certificate-authority": str(CERTS / "README.md")})
        with pytest.raises(kwhatif.ClusterUnreadable, match="certificate-authority of the cluster .* no certificate"):
            kwhatif.load_live(kubeconfig=path)

    @pytest.mark.parametrize("server", ["127.0.0.1:6443", "ftp://x", "https://", 5, ["x"]])
    def test_a_server_that_is_no_address(self, kubeconfig: WriteKubeconfig, server: object) -> None:
        with pytest.raises(kwhatif.InputError) as failure:
            kwhatif.load_live(kubeconfig=kubeconfig(server=server))
        said = f"the server of context demo is not the address of an API server: {server} (it begins with https://)"
        assert str(failure.value).endswith(said)


class TestProxies:
    """Those of kubeconfig (`proxy-url`) and of the environment, as Go takes them."""

    @pytest.mark.parametrize(
        ("proxy", "said"),
        [
            ("http://127.0.0.1:1", "the proxy http://127.0.0.1:1 does not answer: Connection refused (see proxy-url"),
            ("127.0.0.1:1", "the proxy http://127.0.0.1:1 does not answer: Connection refused (see proxy-url"),
            (
                "ftp://127.0.0.1:1",
                "context demo: the proxy ftp://127.0.0.1:1 cannot be used: Proxy URL had unsupported",
            ),
            ("http://ann:secret@[x", "context demo: the proxy [x cannot be used: Failed to parse: "),
            ("socks5://127.0.0.1:1", "context demo: the proxy socks5://127.0.0.1:1: SOCKS needs PySocks"),
        ],
    )
    @pytest.mark.parametrize("where", ["kubeconfig", "https_proxy"])
    def test_one_that_cannot_be_used(
        self, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch, where: str, proxy: str, said: str
    ) -> None:
        monkeypatch.setitem(sys.modules, "socks", None)
        monkeypatch.delitem(sys.modules, "urllib3.contrib.socks", raising=False)  # imported while PySocks was there
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("https_proxy", proxy if where == "https_proxy" else "")
        path = kubeconfig(**({"proxy-url": proxy} if where == "kubeconfig" else {}))
        with pytest.raises(kwhatif.ClusterUnreadable) as failure:
            kwhatif.load_live(kubeconfig=path)
        assert said in str(failure.value)
        assert "secret" not in str(failure.value)

    @pytest.mark.parametrize("spared", ["127.0.0.1", "127.0.0.0/8", "x,127.0.0.1", "*"])
    def test_one_that_does_not_count_for_this_server(
        self, api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch, spared: str
    ) -> None:
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("no_proxy", spared)
        kwhatif.load_live(kubeconfig=kubeconfig())
        assert api.asked("/api/v1/nodes") == 1


class TestCommandLine:
    def test_an_unreadable_cluster_is_exit_code_4(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always["/api/v1/nodes"] = answer(403, recorded("unauthorized")["body"])
        ran = run(f"kwhatif schedule {CHECKOUT} --kubeconfig {kubeconfig()}")
        assert (ran.code, ran.stdout) == (4, "")
        assert ran.stderr.startswith("error: the cluster could not be read: GET /api/v1/nodes of https://127.0.0.1:")

    def test_strictly_missing_information_is_exit_code_4(self, api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
        api.always["/apis/policy/v1/poddisruptionbudgets"] = FORBIDDEN
        command = f"kwhatif preempt {CHECKOUT} --kubeconfig {kubeconfig()} --fail-on none"
        assert run(command).code == 0
        ran = run(f"{command} --strict")
        assert ran.code == 4
        assert ran.stderr.count("\n") == 1
        assert "\\n" not in ran.stderr

    def test_a_context_that_is_not_there_is_exit_code_3(self, kubeconfig: WriteKubeconfig) -> None:
        ran = run(f"kwhatif schedule {CHECKOUT} --kubeconfig {kubeconfig()} --context nope")
        assert (ran.code, ran.stdout) == (3, "")
        assert "has no context 'nope' (it has demo)" in ran.stderr

    @pytest.mark.parametrize(
        "options",
        [
            "--request-timeout soon",
            "--as-group g",
            "--from x --context y",
            "--from x --as y",
            "--from x --kubeconfig y",
        ],
    )
    def test_what_cannot_be_meant_is_exit_code_2(self, options: str) -> None:
        ran = run(f"kwhatif schedule {CHECKOUT} {options}")
        assert (ran.code, ran.stdout) == (2, "")

    def test_no_progress_where_nobody_watches(self, kubeconfig: WriteKubeconfig) -> None:
        ran = run(f"kwhatif schedule {CHECKOUT} --kubeconfig {kubeconfig()} --fail-on none")
        assert (ran.code, ran.stderr) == (0, "")

    def test_ctrl_c_ends_it_at_once(self, api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path) -> None:
        api.always[PODS] = hang
        # A shell starts what runs in the background with SIGINT ignored; the tests may run there.
        interruptible = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        program = f"{interruptible}; from kwhatif.cli import main; main()"
        command = [sys.executable, "-c", program, "schedule", str(CHECKOUT), "--kubeconfig", kubeconfig()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while not api.asked(PODS):
                time.sleep(0.01)
                assert process.poll() is None
            os.kill(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=20)  # less than the server hangs
        assert (process.returncode, stdout) == (130, "")
        assert "Traceback" not in stderr
