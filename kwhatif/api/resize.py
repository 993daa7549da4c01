"""`kwhatif.resize`: what happens to a pod that is resized in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from kwhatif.api.arguments import require_known, require_no_autoscaler, require_session
from kwhatif.api.options import Times
from kwhatif.api.simulate import parameters_of
from kwhatif.edits.edit import Resize
from kwhatif.errors import InputError
from kwhatif.garbage import rare_garbage_collection
from kwhatif.questions.resize import ask_resize
from kwhatif.questions.session.session import Session
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.sources.manifests.edits import read_edits
from kwhatif.sources.text.files import standard_input


def resize(
    session: Session,
    pod: str,
    *,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    container: str = "",
    namespace: str | None = None,
    **options: Unpack[Times],
) -> Report:
    """Is this pod resized in place, deferred, or refused; does it restart, and what follows?

    Args:
        session: the cluster; it stays as it is.
        pod: "pod/shop/web-0", or without the kind.
        requests: new requests: `{"cpu": "2"}`.
        limits: new limits.
        container: which container; "": the pod has only one.
        namespace: of a pod that names none; else that of the live cluster's context, or `default`.
        options: how long things take, see `Times`.

    Raises:
        InputError: there is no such pod or container, or an amount is not valid.
    """
    require_session(session, "resize")
    require_no_autoscaler(session, "resize")
    require_known(options, Times, "resize")
    where = namespace or session.namespace
    content = {"object": pod, "requests": dict(requests or {}), "limits": dict(limits or {})}
    given = {"resize": content | ({"container": container} if container else {})}
    read = read_edits([given], namespace=where, stdin=standard_input(), minor=session.cluster.minor, option="resize")
    if read.problems:
        raise InputError([problem._replace(where=pod) for problem in read.problems])  # the user wrote no edit
    edit = read.edits[0].edit
    assert isinstance(edit, Resize), "nothing else was written"
    with rare_garbage_collection():
        return worded(ask_resize(session, edit, parameters_of(options), where))
