"""A session answers, and is as before."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.errors import PluginFailed
from kwhatif.framework.guard import GuardedPlugin
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.framework.status import SKIP
from kwhatif.whatif.session import Session
from tests.asking import each_alone
from tests.builders import PodBuilder, cluster, node, pod


class Raises:
    """A plugin of somebody's own that cannot cope with one pod."""

    name = "Raises"

    def pre_filter(self, asking: Any, _: object) -> Any:
        if asking.labels.get("odd"):
            raise ZeroDivisionError("odd")
        return SKIP


def on_nodes(session: Session) -> dict[str, list[str]]:
    return {info.name: [each.name for each in info.pods] for info in session.snapshot.nodes}


@pytest.mark.parametrize("there", [pod("web").on("n1"), pod("web")], ids=["runs", "is pending"])
def test_a_plugin_that_raises_leaves_the_session_as_it_was(there: PodBuilder) -> None:
    """The pod in question replaces its namesake, but only for the answer, however that ends."""
    guarded: Any = GuardedPlugin(Raises())
    profiles = {DEFAULT_SCHEDULER: Profile(pre_filter=(guarded,), filter=(guarded,))}
    session = Session(cluster(node("n1"), there, pod("other").on("n1")), profiles=profiles)
    before, pods = on_nodes(session), dict(session.snapshot.pods)
    with pytest.raises(PluginFailed):
        each_alone(session, [pod("web").labels(odd="yes").build()])
    assert (on_nodes(session), dict(session.snapshot.pods)) == (before, pods)
    assert each_alone(session, [pod("web").build()]).decisions[0].node == "n1"


def test_a_pod_is_judged_without_its_namesake() -> None:
    session = Session(cluster(node("n1").allocatable(cpu="2"), pod("web").cpu("2").on("n1")))
    assert each_alone(session, [pod("web").cpu("1").build()]).decisions[0].outcome == "Placed"
    assert on_nodes(session) == {"n1": ["web"]}
