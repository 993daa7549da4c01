"""Calls to an extender: what is sent, what is made of the answer, and of there being none."""

import gzip
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from kwhatif.kube.model.saved import Originals, SessionOriginals
from kwhatif.scheduler.configuration.schema import ExtenderConfig, ExtenderTLSConfig, ManagedResource
from kwhatif.scheduler.framework.extender import ExtenderError, ExtenderVictims
from kwhatif.sources.scheduler.extender_client import HTTPExtender
from kwhatif.sources.scheduler.extender_objects import WholeObjects
from kwhatif.sources.scheduler.extender_transport import TLSProblem
from tests.builders import node, pod, snapshot
from tests.http.fake_api import CERTS
from tests.http.fake_extender import FakeExtender, Handler

SNAPSHOT = snapshot(
    node("a").image(5, "app"), node("b"), pod("a1").on("a").meta(uid="u1"), pod("a2").on("a"), pod("b1").on("b")
)
A, B = SNAPSHOT.nodes
POD = pod("new").info()


@pytest.fixture
def server() -> FakeExtender:
    return FakeExtender()


@pytest.fixture
def url(server: FakeExtender) -> Iterator[str]:
    with server.serve() as address:
        yield f"http://{address}"


def extender(url: str, **fields: Any) -> HTTPExtender:
    usual: dict[str, Any] = {
        "url_prefix": url,
        "filter_verb": "f",
        "prioritize_verb": "p",
        "preempt_verb": "e",
        "weight": 3,
    }
    config = ExtenderConfig(**usual | fields)
    return HTTPExtender(config, WholeObjects(SessionOriginals(Originals(), Originals())))


def failure(call: Callable[[], object]) -> str:
    with pytest.raises(ExtenderError) as caught:
        call()
    return str(caught.value)


# --- what it says of itself ---------------------------------------------------------------------------


def test_it_has_the_verbs_that_are_configured() -> None:
    found = extender("http://x", filter_verb="", preempt_verb="", ignorable=True)
    assert (found.filters, found.prioritizes, found.preempts) == (False, True, False)
    assert (found.name, found.weight, found.ignorable) == ("http://x", 3, True)


def test_its_name_does_not_give_a_password_away() -> None:
    assert extender("http://u:secret@x/y").name == "http://u:xxxxx@x/y"


INTERESTED = {
    "a container requests what it manages": (pod().requests({"a.io/x": "1"}), True),
    "a container has a limit of it": (pod().container("c", resources={"limits": {"a.io/x": "1"}}), True),
    "an init container": (pod().init_container(resources={"requests": {"a.io/x": "0"}}), True),
    "another resource": (pod().requests({"a.io/y": "1"}), False),
}


@pytest.mark.parametrize(("builder", "expected"), INTERESTED.values(), ids=INTERESTED.keys())
def test_it_cares_about_pods_that_use_what_it_manages(builder: Any, expected: bool) -> None:
    built = msgspec.convert(msgspec.to_builtins(builder.build()), type(builder.build()))
    found = extender("http://x", managed_resources=(ManagedResource(name="a.io/x"),))
    assert found.interested(type(POD)(built)) is expected


def test_it_cares_about_all_pods_if_it_manages_nothing_in_particular() -> None:
    assert extender("http://x").interested(POD)


# --- requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("slashes", ["", "/", "//"], ids=["no slash", "a slash", "two slashes"])
def test_the_verb_is_appended_to_the_prefix(server: FakeExtender, url: str, slashes: str) -> None:
    server.answers["/v1/f"] = {"NodeNames": []}
    extender(f"{url}/v1{slashes}", node_cache_capable=True).filter(POD, [A], SNAPSHOT)
    ((path, body, headers),) = server.requests
    assert path == "/v1/f"
    assert list(body) == ["Pod", "Nodes", "NodeNames"]
    assert headers["Content-Type"] == "application/json"


def test_one_that_has_no_node_cache_is_sent_whole_nodes(server: FakeExtender, url: str) -> None:
    server.answers["/p"] = []
    extender(url).prioritize(POD, [A, B])
    (body,) = server.bodies("/p")
    assert body["NodeNames"] is None
    assert [item["metadata"]["name"] for item in body["Nodes"]["items"]] == ["a", "b"]
    assert body["Nodes"]["items"][0]["status"]["images"] == [{"names": ["app"], "sizeBytes": 5}]


def test_a_user_in_the_address_is_a_credential(server: FakeExtender, url: str) -> None:
    server.answers["/p"] = []
    extender(url.replace("http://", "http://user:p%40ss@")).prioritize(POD, [A])
    assert server.requests[0][2]["Authorization"] == "Basic dXNlcjpwQHNz"


def test_redirects_are_followed_with_the_body(server: FakeExtender, url: str) -> None:
    server.answers["/p"] = lambda handler: handler.send(307, b"", Location="/elsewhere")
    server.answers["/elsewhere"] = [{"Host": "a", "Score": 1}]
    assert extender(url).prioritize(POD, [A]) == [("a", 1)]
    assert server.bodies("/elsewhere") == server.bodies("/p")


def test_an_answer_may_be_compressed(server: FakeExtender, url: str) -> None:
    body = gzip.compress(b'[{"Host": "a", "Score": 1}]')
    server.answers["/p"] = lambda handler: handler.send(200, body, Content_Encoding="gzip")
    assert extender(url).prioritize(POD, [A]) == [("a", 1)]


# --- answers ------------------------------------------------------------------------------------------

FILTERED: dict[str, tuple[bool, Any, list[str]]] = {
    "names": (True, {"NodeNames": ["b"]}, ["b"]),
    "names twice": (True, {"NodeNames": ["b", "b"]}, ["b", "b"]),
    "no names": (True, {"NodeNames": []}, []),
    "null and nothing else": (True, {"NodeNames": None, "Nodes": None}, []),
    "null altogether": (True, None, []),
    "names in other letters": (True, {"nodenames": ["b"], "ERROR": ""}, ["b"]),
    "whole nodes, although it was sent names": (True, {"Nodes": {"items": [{"metadata": {"name": "b"}}]}}, ["b"]),
    "whole nodes": (False, {"Nodes": {"items": [{"metadata": {"name": "b"}}]}}, ["b"]),
    "an empty list of whole nodes": (False, {"Nodes": {"metadata": {}, "items": None}}, []),
    "names, although it was sent whole nodes": (False, {"NodeNames": ["b"]}, []),
    "unknown fields": (True, {"NodeNames": ["b"], "Comment": 1}, ["b"]),
}


@pytest.mark.parametrize(("cached", "answer", "names"), FILTERED.values(), ids=FILTERED.keys())
def test_nodes_that_pass(server: FakeExtender, url: str, cached: bool, answer: Any, names: list[str]) -> None:
    server.answers["/f"] = answer
    outcome = extender(url, node_cache_capable=cached).filter(POD, [A, B], SNAPSHOT)
    assert [node.name for node in outcome.nodes] == names


def test_nodes_that_are_named_are_the_nodes_themselves_and_whole_ones_are_new_and_empty(
    server: FakeExtender, url: str
) -> None:
    server.answers["/f"] = {"NodeNames": ["a"]}
    assert extender(url, node_cache_capable=True).filter(POD, [A], SNAPSHOT).nodes == (A,)
    sent_back = {"metadata": {"name": "a", "labels": {"x": "y"}}, "status": {"capacity": {"cpu": "2"}}}
    server.answers["/f"] = {"Nodes": {"items": [sent_back]}}
    (fresh,) = extender(url).filter(POD, [A], SNAPSHOT).nodes
    assert (fresh.pods, fresh.images, fresh.cpu) == ([], frozenset(), 0)
    assert fresh.labels == {"x": "y"}
    assert fresh.allocatable.cpu == 0  # nobody defaults it from the capacity
    assert fresh.shape not in (A.shape, B.shape)


def test_what_an_extender_sends_back_whole_is_what_it_is_asked_about_next(server: FakeExtender, url: str) -> None:
    sent_back = {"metadata": {"name": "a"}, "spec": {"unknownToAll": True}}
    server.answers |= {"/f": {"Nodes": {"items": [sent_back]}}, "/p": []}
    asked = extender(url)
    asked.prioritize(POD, asked.filter(POD, [A], SNAPSHOT).nodes)
    assert server.bodies("/p")[0]["Nodes"]["items"] == [sent_back]


def test_words_about_nodes_that_do_not_pass(server: FakeExtender, url: str) -> None:
    server.answers["/f"] = {"FailedNodes": {"a": "full", "b": None}, "FailedAndUnresolvableNodes": {"b": "never"}}
    outcome = extender(url).filter(POD, [A, B], SNAPSHOT)
    assert (outcome.failed, outcome.unresolvable) == ({"a": "full", "b": ""}, {"b": "never"})


def test_scores(server: FakeExtender, url: str) -> None:
    server.answers["/p"] = [{"Host": "a", "Score": 11}, {"host": "z", "SCORE": -4}, {}, None]
    assert extender(url).prioritize(POD, [A]) == [("a", 11), ("z", -4), ("", 0), ("", 0)]


@pytest.mark.parametrize("cached", [True, False], ids=["UIDs", "whole pods"])
def test_victims(server: FakeExtender, url: str, cached: bool) -> None:
    server.answers["/e"] = {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "default/a2"}, {"UID": "u1"}]}}}
    a1, a2 = A.pods
    proposal = {"a": ExtenderVictims((a1, a2), 1), "b": ExtenderVictims(tuple(B.pods), 0)}
    answer = extender(url, node_cache_capable=cached).preempt(POD, proposal, SNAPSHOT)
    assert answer == {"a": ExtenderVictims((a2, a1), 0)}
    (body,) = server.bodies("/e")
    described, other = body["NodeNameToMetaVictims"], body["NodeNameToVictims"]
    if cached:
        assert described["a"] == {"Pods": [{"UID": "u1"}, {"UID": "default/a2"}], "NumPDBViolations": 1}
    else:
        described, other = other, described
        assert [pod["metadata"]["uid"] for pod in described["a"]["Pods"]] == ["u1", "default/a2"]
        assert described["a"]["Pods"][0]["spec"]["nodeName"] == "a"
    assert other is None
    assert list(described) == ["a", "b"]


# --- failures -----------------------------------------------------------------------------------------


def raw(text: bytes, status: int = 200) -> Callable[[Handler], None]:
    return lambda handler: handler.send(status, text)


FAILED_FILTERS: dict[str, tuple[Any, str]] = {
    "its own words": ({"NodeNames": ["a"], "Error": "no licence"}, "no licence"),
    "a node that it was not asked about": (
        {"NodeNames": ["a", "z"]},
        'extender "{url}" claims a filtered node "z" which is not found in the input node list',
    ),
    "another status than 200": (raw(b'{"NodeNames": ["a"]}', 201), "failed f with extender at URL {url}/f, code 201"),
    "a server error": (raw(b"oops", 500), "failed f with extender at URL {url}/f, code 500"),
    "nothing": (raw(b""), "EOF"),
    "half an answer": (raw(b'{"NodeNames": ["a'), "unexpected EOF"),
    "half an answer, cut elsewhere": (raw(b'{"NodeNames": '), "unexpected EOF"),
    "a web page": (raw(b"<html>"), "invalid character '<' looking for beginning of value"),
    "broken JSON": (raw(b'{"NodeNames" ["a"]}'), "invalid character '[' at offset 13"),
    "JSON of another type": (
        raw(b'"a"'),
        "json: cannot unmarshal the answer: Expected `object`, got `str`",
    ),
    "a field of another type": (
        {"NodeNames": "a"},
        "json: cannot unmarshal the answer: Expected `array | null`, got `str` - at `$.nodenames`",
    ),
    "endless nesting": (
        raw(b"[" * 100_000),
        "json: cannot unmarshal the answer: it is nested too deeply",
    ),
    "a node of another type": (
        {"Nodes": {"items": [{"metadata": {"name": 1}}]}},
        "json: cannot unmarshal the answer: node field metadata.name: expected a string, got an integer",
    ),
    "nodes that are no list": (
        {"Nodes": {"items": {}}},
        "json: cannot unmarshal the answer: its nodes are not a list",
    ),
}


@pytest.mark.parametrize(("answer", "message"), FAILED_FILTERS.values(), ids=FAILED_FILTERS.keys())
def test_filters_that_fail(server: FakeExtender, url: str, answer: Any, message: str) -> None:
    server.answers["/f"] = answer
    asked = extender(url, node_cache_capable=True)
    assert failure(lambda: asked.filter(POD, [A], SNAPSHOT)) == message.format(url=url)


def test_what_follows_the_first_value_is_not_looked_at(server: FakeExtender, url: str) -> None:
    server.answers["/p"] = raw(b'\n [{"Host": "a", "Score": 1}]\n garbage')
    assert extender(url).prioritize(POD, [A]) == [("a", 1)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"Host": "a"}, "Expected `array`, got `object`"),
        ([{"Host": "a", "Score": 1.5}], "Expected `int | null`, got `float` - at `$[0].score`"),
        ([{"Host": "a", "Score": 2**63}], "Expected `int` <= 9223372036854775807 - at `$[0].score`"),
    ],
    ids=["no list", "half a point", "more than 64 bits"],
)
def test_scores_that_make_no_sense(server: FakeExtender, url: str, answer: Any, message: str) -> None:
    server.answers["/p"] = answer
    assert failure(lambda: extender(url).prioritize(POD, [A])) == f"json: cannot unmarshal the answer: {message}"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"z": {"Pods": []}}, 'nodeinfo not found for node name "z"'),
        (
            {"b": {"Pods": [{"UID": "u1"}]}},
            "extender: {url} claims to preempt pod (UID: &{{u1}}) on node: b, but the pod is not found on that node",
        ),
        (
            {"a": None},
            "json: cannot unmarshal the answer: Expected `object`, got `null` - at `$.nodenametometavictims[...]`",
        ),
    ],
    ids=["an unknown node", "a pod of another node", "victims that would crash the scheduler"],
)
def test_victims_that_make_no_sense(server: FakeExtender, url: str, answer: Any, message: str) -> None:
    server.answers["/e"] = {"NodeNameToMetaVictims": answer}
    assert failure(lambda: extender(url).preempt(POD, {}, SNAPSHOT)) == message.format(url=url)


def close(handler: Handler) -> None:
    handler.close_connection = True


def reset(handler: Handler) -> None:
    """Go away without a word: an abortive close."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.connection.close()
    handler.close_connection = True


def garbage(handler: Handler) -> None:
    handler.wfile.write(b"hello\r\n")
    handler.close_connection = True


def promise_more(handler: Handler) -> None:
    handler.send(200, b"[", Content_Length="10")
    handler.close_connection = True


def hang(handler: Handler) -> None:
    handler.server.extender.released.wait(10)


def trickle_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.extender.released.wait(0.02):
        handler.wfile.write(b"X: y\r\n")


def trickle_body(handler: Handler) -> None:
    handler.send(200, b"[", Content_Length="100000")
    while not handler.server.extender.released.wait(0.02):
        handler.wfile.write(b" ")


BROKEN: dict[str, tuple[Callable[[Handler], None], str]] = {
    "it hangs up": (close, 'Post "{url}/p": EOF'),
    "it resets the connection": (reset, 'Post "{url}/p": read: connection reset by peer'),
    "it speaks another protocol": (
        garbage,
        'Post "{url}/p": net/http: HTTP/1.x transport connection broken: malformed HTTP response "hello"',
    ),
    "it hangs up in the middle": (promise_more, "unexpected EOF"),
    "it hangs": (
        hang,
        'Post "{url}/p": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    ),
    "its headers trickle in": (
        trickle_headers,
        'Post "{url}/p": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    ),
    "its body trickles in": (
        trickle_body,
        "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
    ),
}


@pytest.mark.parametrize(("behaviour", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_connections_that_break(
    server: FakeExtender, url: str, behaviour: Callable[[Handler], None], message: str
) -> None:
    server.answers["/p"] = behaviour
    asked = extender(url, http_timeout="300ms")
    assert failure(lambda: asked.prioritize(POD, [A])) == message.format(url=url)


def test_an_extender_that_sends_in_circles(server: FakeExtender, url: str) -> None:
    server.answers["/p"] = lambda handler: handler.send(307, b"", Location="/p")
    asked = extender(url, http_timeout="20s")  # ten answers take a while on a busy machine
    assert failure(lambda: asked.prioritize(POD, [A])) == f'Post "{url}/p": stopped after 10 redirects'


def test_after_a_failure_it_can_be_asked_again(server: FakeExtender, url: str) -> None:
    asked = extender(url, http_timeout="2s")  # enough for the second answer, however busy the machine
    server.answers["/p"] = hang
    failure(lambda: asked.prioritize(POD, [A]))
    server.answers["/p"] = [{"Host": "a", "Score": 1}]
    assert asked.prioritize(POD, [A]) == [("a", 1)]


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    message = f'Post "http://127.0.0.1:{port}/p": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert failure(lambda: extender(f"http://127.0.0.1:{port}").prioritize(POD, [A])) == message


ADDRESSES = {
    "no scheme": ("127.0.0.1:8888", 'Post "127.0.0.1:8888/p": unsupported protocol scheme ""'),
    "a name and a port": ("localhost:8888", 'Post "localhost:8888/p": unsupported protocol scheme "localhost"'),
    "another scheme": ("ftp://x", 'Post "ftp://x/p": unsupported protocol scheme "ftp"'),
    "no address at all": ("", 'Post "/p": unsupported protocol scheme ""'),
    "no port": (
        "http://u:secret@x:y",
        "parse \"http://u:xxxxx@x:y/p\": Port could not be cast to integer value as 'y'",
    ),
}


@pytest.mark.parametrize(("prefix", "message"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_addresses_that_lead_nowhere(prefix: str, message: str) -> None:
    assert failure(lambda: extender(prefix).prioritize(POD, [A])) == message


def test_a_host_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    message = 'Post "http://nobody.example/p": dial tcp: lookup nobody.example: no such host'
    assert failure(lambda: extender("http://nobody.example").prioritize(POD, [A])) == message


# --- TLS ----------------------------------------------------------------------------------------------


@pytest.fixture
def secure(server: FakeExtender) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / "server.crt", CERTS / "server.key")
    context.load_verify_locations(CERTS / "ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    server.answers["/p"] = lambda handler: handler.send(
        200, json.dumps([{"Host": str(bool(handler.connection.getpeercert())), "Score": 0}]).encode()
    )
    with server.serve(context) as address:
        yield f"https://{address}"


def file(name: str) -> str:
    return str(CERTS / name)


def data(name: str) -> bytes:
    return (CERTS / name).read_bytes()


TRUSTED: dict[str, tuple[dict[str, Any], bool]] = {
    "an authority in a file": ({"tls_config": ExtenderTLSConfig(ca_file=file("ca.crt"))}, False),
    "an authority as data, which counts before the file": (
        {"tls_config": ExtenderTLSConfig(ca_data=data("ca.crt"), ca_file="/nowhere")},
        False,
    ),
    "verification is off": ({"tls_config": ExtenderTLSConfig(insecure=True)}, False),
    "without an authority enableHTTPS turns it off, too": ({"enable_https": True}, False),
    "the name that the certificate bears": (
        {"tls_config": ExtenderTLSConfig(ca_file=file("ca.crt"), server_name="localhost")},
        False,
    ),
    "a client certificate in files": (
        {
            "tls_config": ExtenderTLSConfig(
                ca_file=file("ca.crt"), cert_file=file("client.crt"), key_file=file("client.key")
            )
        },
        True,
    ),
    "a client certificate as data": (
        {
            "enable_https": True,
            "tls_config": ExtenderTLSConfig(cert_data=data("client.crt"), key_data=data("client.key")),
        },
        True,
    ),
    "a client certificate without its key is none": (
        {"enable_https": True, "tls_config": ExtenderTLSConfig(cert_data=data("client.crt"))},
        False,
    ),
}


@pytest.mark.parametrize(("fields", "known"), TRUSTED.values(), ids=TRUSTED.keys())
def test_connections_that_are_trusted(secure: str, fields: dict[str, Any], known: bool) -> None:
    assert extender(secure, **fields).prioritize(POD, [A]) == [(str(known), 0)]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an authority that nobody knows": ({}, "x509: certificate signed by unknown authority"),
    "the authority of somebody else": (
        {"tls_config": ExtenderTLSConfig(ca_file=file("other-ca.crt"))},
        "x509: certificate signed by unknown authority",
    ),
    "another name": (
        {"tls_config": ExtenderTLSConfig(ca_file=file("ca.crt"), server_name="extender.example.com")},
        "Hostname mismatch, certificate is not valid for 'extender.example.com'.",
    ),
}


@pytest.mark.parametrize(("fields", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_connections_that_are_not_trusted(secure: str, fields: dict[str, Any], reason: str) -> None:
    found = failure(lambda: extender(secure, **fields).prioritize(POD, [A]))
    assert found == f'Post "{secure}/p": tls: failed to verify certificate: {reason}'


def test_a_server_that_does_not_speak_tls(server: FakeExtender, url: str) -> None:
    found = failure(lambda: extender(url.replace("http", "https"), enable_https=True).prioritize(POD, [A]))
    assert found.startswith(f'Post "{url.replace("http", "https")}/p": tls: ')


UNUSABLE: dict[str, tuple[ExtenderTLSConfig, str, str]] = {
    "a file that is not there": (
        ExtenderTLSConfig(ca_file="/nowhere/ca.crt"),
        "caFile",
        "/nowhere/ca.crt cannot be read: No such file or directory",
    ),
    "a file that holds something else": (
        ExtenderTLSConfig(ca_file=file("README.md")),
        "caFile",
        "holds no certificates",
    ),
    "data that is something else": (ExtenderTLSConfig(ca_data=b"hi"), "caData", "holds no certificates"),
    "a key that is not there": (
        ExtenderTLSConfig(cert_file=file("client.crt"), key_file="/nowhere/key"),
        "keyFile",
        "/nowhere/key cannot be read: No such file or directory",
    ),
    "a key of another certificate": (
        ExtenderTLSConfig(cert_file=file("client.crt"), key_file=file("server.key")),
        "certFile",
        "is not a certificate with its key",
    ),
    "no key": (
        ExtenderTLSConfig(cert_data=data("client.crt"), key_data=b"hi"),
        "certData",
        "is not a certificate with its key",
    ),
}


@pytest.mark.parametrize(("tls", "field", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_certificates_that_cannot_be_used(tls: ExtenderTLSConfig, field: str, message: str) -> None:
    with pytest.raises(TLSProblem) as caught:
        extender("https://x", tls_config=tls)
    assert caught.value.field == field
    assert str(caught.value).startswith(message)
