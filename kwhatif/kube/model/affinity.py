"""Affinity, tolerations and spread constraints of a pod."""

from __future__ import annotations

from msgspec import field

from kwhatif.kube.model.meta import Int32, Int64, LabelSelector, Model, Requirement


class Toleration(Model):
    """`spec.tolerations[]`; operator "" means Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class NodeSelectorTerm(Model):
    """One term: all expressions and fields must hold; an empty term matches nothing."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Model):
    """Node selector terms; at least one must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Model):
    """A weighted preference for nodes."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Model):
    """`affinity.nodeAffinity`; `None` and empty lists differ."""

    required: NodeSelector | None = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class PodAffinityTerm(Model):
    """A term about other pods within one topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Model):
    """A weighted preference about other pods."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Model):
    """`affinity.podAffinity` or `affinity.podAntiAffinity`."""

    required: tuple[PodAffinityTerm, ...] = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Model):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Model):
    """`spec.topologySpreadConstraints[]`; `None` keeps upstream's meaning of an unset field."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
