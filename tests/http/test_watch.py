"""A cluster that is watched: what happens to it is known, whatever happens to the connection."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.live import LiveCluster
from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.live.kubeconfig import LiveOptions
from kwhatif.sources.live.reflector import Patience
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import Behaviour, FakeAPI, Handler, answer, drop, empty_list, hang, status

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
#: As nobody waits for tests.
HASTY = Patience(first_pause=0.02, longest_pause=0.1, silence=0.6, unserved=0.1)


def a_pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "10m"}}}
    whole = {"containers": [container], "priority": 0, "preemptionPolicy": "PreemptLowerPriority", **spec}
    meta = {"namespace": "default", "name": name, "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": whole, "status": {"phase": "Pending"}}


@contextmanager
def watched(kubeconfig: str, patience: Patience = HASTY, **options: Any) -> Iterator[LiveCluster]:
    with LiveCluster(LiveOptions.of(kubeconfig=kubeconfig, **options), {}, patience=patience) as live:
        live.settle()
        yield live


def until(live: LiveCluster, what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Take in what happens, until that is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"that did not happen; behind: {dict(live.behind)}"
        live.wait(0.05)


def has(live: LiveCluster, name: str) -> Callable[[], bool]:
    return lambda: f"default/{name}" in live.session.state.pods


def test_what_happens_is_known(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig(), Patience()) as live:
        before = live.session
        node = before.state.nodes[0].name
        api.change(PODS, a_pod("new", nodeName=node))
        until(live, has(live, "new"))
        assert live.session.state.pods["default/new"].pod.spec.node_name == node
        api.change(PODS, a_pod("new", nodeName=node), gone=True)
        until(live, lambda: not has(live, "new")())
        assert "default/new" not in before.state.pods
        assert live.follower.restarts == 0


def test_it_is_what_would_be_read_now(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        for number in range(20):
            api.change(PODS, a_pod(f"p{number % 7}"), gone=number % 7 == 6 and number > 7)
        api.change(PODS, a_pod("last"))
        until(live, has(live, "last"))
        report = kwhatif.preempt(live.session)
        assert report == kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig()))


def test_nothing_but_get_is_sent(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()):
        assert {method for method, _, _ in api.requests} == {"GET"}
        assert not any("secrets" in path or "configmaps" in path for _, path, _ in api.requests)


@pytest.mark.parametrize("name", ["end", "compacted"])
def test_a_watch_that_ends_goes_on(api: FakeAPI, kubeconfig: WriteKubeconfig, name: str) -> None:
    with watched(kubeconfig()) as live:
        api.change(PODS, a_pod("one"))
        until(live, has(live, "one"))
        listed = api.asked(PODS) - api.watched(PODS)
        if name == "compacted":
            for path in (NODES, PODS):
                api.next(path, answer(410, status(410, "Expired", "too old resource version")))
            api.compact()
        else:
            api.cut()
        api.change(PODS, a_pod("two"))
        api.change(PODS, a_pod("one"), gone=True)
        until(live, lambda: has(live, "two")() and not has(live, "one")())
        until(live, lambda: not live.behind)
        again = api.asked(PODS) - api.watched(PODS) - listed
        assert (again >= 1) is (name == "compacted")


def error_line(code: int, reason: str) -> Behaviour:
    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.line({"type": "ERROR", "object": status(code, reason, "no more")})
        handler.wfile.write(b"0\r\n\r\n")

    return behave


def cut_line(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(b'{"type":"ADDED","object":{"kind":"Pod"')
    handler.close_connection = True


def silent(handler: Handler) -> None:
    """The head of an answer, and then nothing forever: as a connection of which the other half is gone."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.flush()
    handler.close_connection = True
    handler.server.api.released.wait(30)


def dripping(handler: Handler) -> None:
    """The length of a chunk, byte by byte."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    handler.close_connection = True
    try:
        while not handler.server.api.released.wait(0.05):
            handler.wfile.write(b"0")
            handler.wfile.flush()
    except OSError:
        pass


FAULTS: dict[str, Behaviour] = {
    "dropped": drop,
    "too many requests": answer(429, status(429, "TooManyRequests", "later"), Retry_After="0"),
    "server error": answer(500, status(500, "InternalError", "etcd is away")),
    "an expired state": error_line(410, "Expired"),
    "an error": error_line(500, "InternalError"),
    "half an event": cut_line,
    "silence": silent,
    "drops of bytes": dripping,
    "hangs": hang,
    "not JSON": answer(200, b"<html>\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_pass(api: FakeAPI, kubeconfig: WriteKubeconfig, fault: str) -> None:
    with watched(kubeconfig(), request_timeout="4s") as live:
        api.next(PODS, FAULTS[fault])
        api.cut()
        api.change(PODS, a_pod("one"))
        until(live, has(live, "one"))
        until(live, lambda: not live.behind)
        if fault not in ("silence", "drops of bytes", "hangs"):
            assert live.follower.restarts >= 1


def test_it_comes_again_when_the_server_wants_it(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        api.next(PODS, answer(429, status(429, "TooManyRequests", "later"), Retry_After="1"))
        api.cut()
        until(live, lambda: "429" in live.behind.get("pods", ""))
        since = time.monotonic()
        until(live, lambda: not live.behind)
        assert time.monotonic() - since > 0.7


def test_no_answer_while_something_is_missing(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        api.always[PODS] = drop
        api.cut()
        until(live, lambda: "pods" in live.behind)
        assert live.behind["pods"]
        until(live, lambda: live.age > 0.1)
        del api.always[PODS]
        until(live, lambda: not live.behind)


def test_credentials_are_renewed(api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Any) -> None:
    token = tmp_path / "token"
    token.write_text(api.token)
    with watched(kubeconfig({"tokenFile": str(token)})) as live:
        api.token = "another"
        token.write_text("another")
        api.cut()
        api.change(PODS, a_pod("one"))
        until(live, has(live, "one"))
        until(live, lambda: not live.behind)


def test_an_exec_plugin_runs_again(api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path) -> None:
    token, runs = tmp_path / "token", tmp_path / "runs"
    token.write_text(api.token)
    plugin = tmp_path / "plugin"
    said = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}'
    plugin.write_text(f"#!/bin/sh\necho run >> {runs}\nprintf '{said}' \"$(cat {token})\"\n")
    plugin.chmod(0o755)
    user = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    }
    with watched(kubeconfig(user)) as live:
        before = len(runs.read_text().split())
        api.token = "another"
        token.write_text("another")
        api.cut()
        api.change(PODS, a_pod("one"))
        until(live, has(live, "one"))
        until(live, lambda: not live.behind)
        # One reflector renews the connection for all; one more may have begun with the old one meanwhile.
        assert before < len(runs.read_text().split()) <= before + 4


def test_a_server_that_was_away_is_followed_again(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        api.always[""] = drop
        api.cut()
        until(live, lambda: len(live.behind) > 10)
        age = live.age
        until(live, lambda: live.age > age)
        api.change(PODS, a_pod("one"))
        del api.always[""]
        until(live, lambda: not live.behind)
        until(live, has(live, "one"))


def test_clocks_that_jump_do_not_matter(
    api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(kubeconfig()) as live:
        real = time.time
        for hours in (-30_000, 30_000):
            monkeypatch.setattr(time, "time", lambda hours=hours: real() + hours * 3600)
            api.change(PODS, a_pod(f"at{hours}"))
            until(live, has(live, f"at{hours}"))
            assert live.age < 60
        assert live.follower.restarts == 0


def test_what_is_refused_for_good_is_the_end(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        api.always[PODS] = answer(403, status(403, "Forbidden", 'pods is forbidden: User "x"'))
        api.cut()
        with pytest.raises(ClusterUnreadable, match="403"):
            until(live, lambda: False)


def test_what_may_not_be_read_at_first_is_an_error(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    api.always[PODS] = answer(403, status(403, "Forbidden", "pods is forbidden"))
    with pytest.raises(ClusterUnreadable, match="403"), watched(kubeconfig()):
        pass


def test_what_is_served_later_is_read_then(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    path = "/apis/policy/v1/poddisruptionbudgets"
    api.always[path] = answer(403, status(403, "Forbidden", "not yet"))
    with watched(kubeconfig()) as live:
        assert "PodDisruptionBudget" in live.session.cluster.facts.unread
        del api.always[path]
        until(live, lambda: "PodDisruptionBudget" not in live.session.cluster.facts.unread)


def test_an_event_that_makes_no_sense_is_the_end(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        api.change(PODS, a_pod("one") | {"spec": json.loads('{"containers": 5}')})
        with pytest.raises(ClusterUnreadable, match="makes no sense"):
            until(live, lambda: False)


def test_threads_and_connections_end_with_it(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        threads = [reflector._thread for reflector in live.follower._reflectors]
        assert all(thread.is_alive() for thread in threads)
        assert all(thread.daemon for thread in threads)
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def version(minor: str) -> Behaviour:
    return answer(200, {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.0"})


def test_a_server_that_was_upgraded_is_asked_its_release_again(
    api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KWHATIF_KUBERNETES_VERSION")
    api.always["/version"] = version("36")
    with watched(kubeconfig()) as live:
        before = live.session
        assert before.scheduler.version == "1.36"
        api.always[""] = drop
        api.cut()
        until(live, lambda: len(live.behind) > 10)
        api.always |= {"/version": version("37+")}
        api.change(PODS, a_pod("one"))
        del api.always[""]
        until(live, lambda: not live.behind and live.session.scheduler.version == "1.37")
        assert has(live, "one")()
        assert live.session.cluster.facts.minor == 37
        assert live.restarts > 0
        assert kwhatif.preempt(live.session) == kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig()))
        api.change(PODS, a_pod("two"))
        until(live, has(live, "two"))
        assert before.cluster.facts.minor == 36


def test_a_server_that_is_the_same_again_is_not_read_again(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        listed, asked = api.asked(PODS) - api.watched(PODS), api.asked("/version")
        api.next("/version", answer(500, status(500, "InternalError", "etcd is away")))
        api.cut()
        api.change(PODS, a_pod("one"))
        until(live, has(live, "one"))
        until(live, lambda: not live.behind)
        assert api.asked("/version") > asked
        assert api.asked(PODS) - api.watched(PODS) == listed


def test_what_an_answer_was_not_made_of_does_not_matter_to_it(api: FakeAPI, kubeconfig: WriteKubeconfig) -> None:
    with watched(kubeconfig()) as live:
        node = live.session.state.nodes[0].name
        api.change(PODS, a_pod("one", nodeName=node))
        until(live, has(live, "one"))
        live.answered(kwhatif.pending(live.session))
        status = {"phase": "Pending", "conditions": [{"type": "ContainersReady", "status": "False"}]}
        api.change(PODS, a_pod("one", nodeName=node) | {"status": status})
        end = time.monotonic() + 60
        while not live._cache.state.pods["default/one"].pod.status.conditions:
            assert not live.wait(0.05)
            assert time.monotonic() < end
        api.change(PODS, a_pod("two"))
        while not live.wait(0.05):
            assert time.monotonic() < end
        assert has(live, "two")()


def test_groups_that_come_prove_that_gates_are_on(
    api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KWHATIF_KUBERNETES_VERSION")
    api.always["/version"], group = version("37"), "scheduling.k8s.io/v1beta1"
    api.pages[f"/apis/{group}/podgroups"] = {"": empty_list(group, "PodGroup")}
    with watched(kubeconfig()) as live:
        assert not live.session.scheduler.feature_gates
        spec = {"schedulingPolicy": {"gang": {"minCount": 4}}}
        meta = {"namespace": "default", "name": "train"}
        obj = {"apiVersion": group, "kind": "PodGroup", "metadata": meta, "spec": spec}
        api.change(f"/apis/{group}/podgroups", obj)
        until(live, lambda: not live.behind and bool(live.session.scheduler.feature_gates))
        assert kwhatif.preempt(live.session) == kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig()))


def test_groups_of_other_schedulers_are_gangs_at_every_moment(
    api: FakeAPI, kubeconfig: WriteKubeconfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KWHATIF_KUBERNETES_VERSION")
    options = LiveOptions.of(kubeconfig=kubeconfig())
    with LiveCluster(options, {"treat_as_gang": True}, patience=HASTY) as live:
        live.settle()
        for number, name in enumerate(("a", "b"), 1):
            pod = a_pod(name, schedulerName="volcano")
            pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "train"}
            live.answered(kwhatif.preempt(live.session))
            api.change(PODS, pod)
            until(live, has(live, name))
            report = kwhatif.preempt(live.session)
            assert report.pod_groups is not None
            assert [(row.group, row.pods) for row in report.pod_groups.groups] == [("default/volcano-train", number)]
        assert report == kwhatif.preempt(kwhatif.load_live(kubeconfig=kubeconfig(), treat_as_gang=True))
