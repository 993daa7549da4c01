"""A profile: the plugins at each extension point, with their order and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.extender import Extender
from kwhatif.scheduler.framework.filters import NodeResultCache
from kwhatif.scheduler.framework.plugin import (
    FilterPlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    ScorePlugin,
    is_custom,
)

DEFAULT_SCHEDULER = "default-scheduler"


class Point(Enum):
    """Extension points; the values are the configuration's field names."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    #: For groups of pods, behind gates that are off by default.
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"
    POD_GROUP_POST_FILTER = "podGroupPostFilter"


#: Not every release has these: a configuration may name one if a plugin of its release extends it.
GROUP_POINTS = frozenset({Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE, Point.POD_GROUP_POST_FILTER})


class Profile(msgspec.Struct, frozen=True):
    """Plugins by extension point, in order. `weights` are those of Score."""

    scheduler_name: str = DEFAULT_SCHEDULER
    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    pre_filter: tuple[FilterPlugin, ...] = ()
    filter: tuple[FilterPlugin, ...] = ()
    post_filter: tuple[PostFilterPlugin, ...] = ()
    pre_score: tuple[ScorePlugin, ...] = ()
    score: tuple[ScorePlugin, ...] = ()
    weights: Mapping[str, int] = {}
    #: Plugins for groups of pods: those that make placements (the first one counts), and those that score them.
    placement_generate: tuple[PlacementGeneratePlugin, ...] = ()
    placement_score: tuple[PlacementScorePlugin, ...] = ()
    pod_group_post_filter: tuple[Plugin, ...] = ()
    extenders: tuple[Extender, ...] = ()
    #: `percentageOfNodesToScore`, 0: adaptive. kwhatif evaluates every node; the value is used for a caveat only.
    percentage_of_nodes_to_score: int = 0
    #: The feature gates that are on.
    gates: Gates = BASE_GATES
    #: `podInitialBackoffSeconds` and `podMaxBackoffSeconds`, the same for all profiles.
    backoff_seconds: tuple[int, int] = (1, 10)
    #: Results about nodes from attempts by this profile; a copy with other plugins has its own.
    node_results: NodeResultCache = msgspec.field(default_factory=NodeResultCache)

    def __post_init__(self) -> None:
        """A copy begins with nothing."""
        msgspec.structs.force_setattr(self, "node_results", NodeResultCache())

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """All plugins, once for each point that they are enabled at."""
        return *self.pre_enqueue, *self.pre_filter, *self.filter, *self.post_filter, *self.pre_score, *self.score

    @property
    def has_custom_plugins(self) -> bool:
        """Whether any plugin is the user's own."""
        return any(map(is_custom, self.plugins))


def scheduler_of(pod: Pod) -> str:
    """The name of the pod's scheduler; the API server sets it (`SetDefaults_PodSpec` in `core/v1/defaults.go`)."""
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


def profile_of(pod: Pod, profiles: Mapping[str, Profile]) -> Profile | None:
    """The profile that places the pod; None: it is another scheduler's."""
    return profiles.get(scheduler_of(pod))


def names(plugins: Sequence[Plugin]) -> tuple[str, ...]:
    """The plugins' names, in order."""
    return tuple(plugin.name for plugin in plugins)
