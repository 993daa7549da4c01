"""`kwhatif.resize`: what happens to a pod that is resized in place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known, require_no_autoscaler, require_session
from kwhatif.api.notebook import answered
from kwhatif.api.options import Times
from kwhatif.api.simulate import parameters_of
from kwhatif.edits.edit import Resize, Wrong
from kwhatif.edits.words import reference
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.model.meta import parse_time
from kwhatif.questions.resize import ask_resize, ask_updater
from kwhatif.questions.session.session import Session, moment_of
from kwhatif.report import Report
from kwhatif.sources.manifests.edits import read_edits
from kwhatif.sources.text.files import standard_input


def resize(
    session: Session,
    pod: str,
    *,
    requests: Mapping[str, str] | Literal["vpa"] | None = None,
    limits: Mapping[str, str] | None = None,
    container: str = "",
    namespace: str | None = None,
    now: datetime | None = None,
    **options: Unpack[Times],
) -> Report:
    """Is this pod resized in place, deferred, or refused; does it restart, and what follows?

    Args:
        session: the cluster; it stays as it is.
        pod: "pod/shop/web-0", or without the kind.
        requests: new requests: `{"cpu": "2"}`; or "vpa": what the pod's VerticalPodAutoscaler recommends, and then the
            answer is what that does about it.
        limits: new limits.
        container: which container; "": the pod has only one.
        namespace: of a pod that names none; else that of the live cluster's context, or `default`.
        now: what a live cluster's ages count to, instead of now.
        options: how long things take, see `Times`.

    Raises:
        InputError: there is no such pod or container, an amount is none, or nothing is recommended.
        TypeError: `requests` is "vpa", and there are limits or a container.
    """
    require_session(session, "resize")
    require_no_autoscaler(session, "resize")
    require_known(options, Times, "resize")
    where = namespace or session.namespace
    if requests == "vpa":
        if limits or container:
            raise TypeError("resize() takes requests='vpa' without limits and container: all are recommended")
        at, assumed = moment_of(session, None, (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"))
        try:
            subject = reference(pod, "pod")
        except Wrong as wrong:
            raise InputError([Problem(pod, wrong.message, hint=wrong.hint)]) from wrong
        owned = session.with_owners()
        dated = replace(owned, caveats=(*owned.caveats, *assumed))
        with rare_garbage_collection():
            return answered(ask_updater(dated, subject, parameters_of(options), where, parse_time(at)), session)
    if isinstance(requests, str):
        raise TypeError(f"requests is a mapping, or 'vpa', not {requests!r}")
    content = {"object": pod, "requests": dict(requests or {}), "limits": dict(limits or {})}
    given = {"resize": content | ({"container": container} if container else {})}
    read = read_edits([given], namespace=where, stdin=standard_input(), minor=session.cluster.minor, option="resize")
    if read.problems:
        raise InputError([problem._replace(where=pod) for problem in read.problems])  # the user wrote no edit
    edit = read.edits[0].edit
    assert isinstance(edit, Resize), "nothing else was written"
    with rare_garbage_collection():
        return answered(ask_resize(session, edit, parameters_of(options), where), session)
