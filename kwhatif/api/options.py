"""Options that a function of the library and its command share, each declared once.

The fields of a TypedDict are annotated with the help of the command line (`Option`): the command takes all fields as
one parameter (`cli/option_groups.py`), and passes them to the function unchanged. `kwhatif --help` reads this module,
so it imports nothing that takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

PathLike = str | Path
PluginSource = str | type

#: Groups of the command line's help.
KUBECTL, SCENARIOS, SCHEDULER = "As in kubectl drain", "Many scenarios", "Scheduler"


class Option(NamedTuple):
    """An option of the command line, under the name of the field or parameter that it annotates."""

    help: str
    #: Of a field; a parameter has its own.
    default: bool | int | str | None = False
    #: The placeholder for its value; "": it is a switch.
    metavar: str = ""
    #: The smallest and the largest number that are allowed.
    min: int | None = None
    max: int | None = None
    #: The group in which the help lists it; "": the first group.
    group: str = ""
    #: Its name, if it differs from the field's; and a short one, such as "-l".
    name: str = ""
    short: str = ""
    #: Whether the switch turns off a field that is on by default.
    negated: bool = False
    #: Whether it can be given several times: then the value is a list.
    repeatable: bool = False
    #: Whether the list is joined to one text, with commas.
    joined: bool = False
    #: A function that checks its value, also as module:name; it raises ValueError with a message for the user.
    check: str | Callable[[Any], object] = ""
    #: A function that completes its value in a shell.
    complete: Callable[..., list[str]] | None = None


class OptionError(ValueError):
    """An option that is refused, because of its value or because of another option."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option
        self.message = message


class ValidationOption(TypedDict, total=False):
    """How unknown and repeated fields of manifests are handled: kubectl's `--validate`."""

    #: As errors ("strict", the default), as caveats ("warn"), or not at all ("ignore").
    validation: Annotated[
        str,
        Option(
            "Unknown and repeated fields of manifests: strict (or true), warn, ignore (or false), as in kubectl.",
            "strict",
            "HOW",
            name="validate",
            check="kwhatif.sources.decoding.strict:parse_validation",
        ),
    ]


class ReadingOptions(ValidationOption, total=False):
    """How manifests are read."""

    template_paths: Annotated[
        Sequence[str],
        Option(
            "The path of the pod template in custom resources of a kind, such as Rollout=.spec.template. Repeatable.",
            metavar="KIND=PATH",
            repeatable=True,
            name="pod-template-path",
            check="kwhatif.sources.manifests.applied:parse_template_paths",
        ),
    ]


_GATES = Option(
    "Feature gates of kube-scheduler that differ from the release's defaults. Repeatable.",
    metavar="A=true,B=false",
    group=SCHEDULER,
    repeatable=True,
    joined=True,
)


class GatesOption(TypedDict, total=False):
    """Which features of kube-scheduler are on."""

    #: By name, or as kube-scheduler's option has them: "A=true,B=false".
    feature_gates: Annotated[str | Mapping[str, bool] | None, _GATES]


class KindsOption(TypedDict, total=False):
    """Which custom kinds are known."""

    #: A file, or "-" (see `docs/custom-kinds.md`).
    workload_kinds: Annotated[
        PathLike | None,
        Option(
            "Custom kinds that make pods, besides the built-in ones: where template and replicas are, and which"
            " Kubernetes workload each behaves like.",
            None,
            "FILE",
            group=SCHEDULER,
        ),
    ]


class SchedulerOptions(KindsOption, total=False):
    """Which scheduler is asked; by default kube-scheduler with its defaults."""

    #: A KubeSchedulerConfiguration: a file, or "-".
    scheduler_config: Annotated[
        PathLike | None,
        Option(
            "The KubeSchedulerConfiguration of your scheduler. Without it, kube-scheduler's defaults.",
            None,
            "FILE",
            group=SCHEDULER,
        ),
    ]
    call_extenders: Annotated[
        bool,
        Option(
            "Call the extenders of that configuration. Without this, they are skipped, each with a caveat.",
            group=SCHEDULER,
        ),
    ]
    #: Plugins that run in every profile: classes, `module:Class`, or names of entry points (see `docs/plugins.md`).
    plugins: Annotated[
        Sequence[PluginSource],
        Option(
            "Add a custom scheduler plugin, written in Python. Repeatable.",
            metavar="MODULE:CLASS",
            group=SCHEDULER,
            name="plugin",
            repeatable=True,
        ),
    ]
    kubernetes_version: Annotated[
        str | None,
        Option(
            "The Kubernetes release of the scheduler, such as 1.34. Default: $KWHATIF_KUBERNETES_VERSION, else the"
            " cluster's release.",
            None,
            "VERSION",
            group=SCHEDULER,
        ),
    ]
    #: By name, or as kube-scheduler's option has them: "A=true,B=false".
    feature_gates: Annotated[str | Mapping[str, bool] | None, _GATES]
    treat_as_gang: Annotated[
        bool,
        Option(
            "Judge the groups of Volcano, Kueue, KAI and coscheduling, and the pods of a JobSet, LeaderWorkerSet,"
            " RayCluster or PyTorchJob, as gangs by the rule of kube-scheduler 1.37.",
            group=SCHEDULER,
        ),
    ]


class JudgingOptions(TypedDict, total=False):
    """How pods are judged."""

    alone: Annotated[bool, Option("Judge each pod as if it were the only new one; of equal replicas, only the first.")]
    admission: Annotated[
        bool,
        Option(
            "Take pods as the API server has stored them, and judge each alone: what the scheduler itself would do.",
            name="no-admission",
            negated=True,
        ),
    ]
    aftermath: Annotated[bool, Option("Also simulate what follows, until nothing happens any more.")]


class Times(TypedDict, total=False):
    """How long things take: durations such as "5s"; those that a scenario file sets win."""

    start: Annotated[
        str, Option("How long pods take to start: from binding until the containers run.", "5s", "DURATION")
    ]
    readiness: Annotated[
        str,
        Option(
            "How long started pods take to become ready: probe (by their readiness probe), or a duration.",
            "probe",
            "HOW",
        ),
    ]
    termination: Annotated[
        str,
        Option(
            "How long deleted pods take to end: grace (their grace period), or a duration if that is shorter.",
            "grace",
            "HOW",
        ),
    ]
    horizon: Annotated[str, Option("How much time to simulate at most.", "1h", "DURATION")]


class SimulationOptions(Times, total=False):
    """How long things take, and how often to play it.

    The story's `runs` has the results of the other runs; the same `seed` gives the same choices.
    """

    runs: Annotated[
        int,
        Option(
            "Simulate N more times with other choices and durations, and say what is always the same.", 0, "N", min=0
        ),
    ]
    seed: Annotated[int, Option("The seed of the random choices of --runs.", 1, "N")]


class MaintenanceOptions(Times, total=False):
    """How long things take, and which processes play the scenarios of `each`. The report is the same in any case."""

    jobs: Annotated[
        int,
        Option("The number of processes; 0: as many as are fastest on this machine.", 0, "N", min=0, group=SCENARIOS),
    ]
    dask: Annotated[
        str,
        Option(
            "Run on the Dask cluster with this scheduler address (needs kwhatif[dask]).", "", "ADDRESS", group=SCENARIOS
        ),
    ]
    resume: Annotated[
        str,
        Option("Keep results in this file; an interrupted command continues from there.", "", "FILE", group=SCENARIOS),
    ]


class PodSelection(TypedDict, total=False):
    """Which pods are asked about, as kubectl chooses them."""

    selector: Annotated[
        str,
        Option(
            "Only pods with these labels, such as app=web,tier!=test.",
            "",
            "LABELS",
            short="-l",
            check="kwhatif.kube.matching.pods:parse_labels",
        ),
    ]
    field_selector: Annotated[
        str,
        Option(
            "Only pods with these fields, such as spec.nodeName=a1,status.phase=Pending.",
            "",
            "FIELDS",
            check="kwhatif.kube.matching.pods:parse_fields",
        ),
    ]


class NodeSelection(TypedDict, total=False):
    """Which nodes are asked about, instead of names."""

    selector: Annotated[str, Option("The nodes with these labels.", "", "LABELS", short="-l", group=KUBECTL)]


class DrainFlags(TypedDict, total=False):
    """The flags of `kubectl drain` (`controllers/drain_filters.py`), and how several nodes are drained."""

    ignore_daemonsets: Annotated[bool, Option("Do not evict pods of DaemonSets.", group=KUBECTL)]
    delete_emptydir_data: Annotated[bool, Option("Evict pods with local storage, too.", group=KUBECTL)]
    force: Annotated[bool, Option("Evict pods without a controller, too.", group=KUBECTL)]
    disable_eviction: Annotated[
        bool, Option("Delete pods instead of evicting them: PodDisruptionBudgets are ignored.", group=KUBECTL)
    ]
    grace_period: Annotated[
        int, Option("The grace period of evicted pods; negative: each pod's own.", -1, "SECONDS", group=KUBECTL)
    ]
    timeout: Annotated[str, Option("Give up a node after this time; 0s: never.", "0s", "DURATION", group=KUBECTL)]
    skip_wait_for_delete_timeout: Annotated[
        int,
        Option(
            "Do not wait for pods that were deleted longer ago than this; 0: wait for all.", 0, "SECONDS", group=KUBECTL
        ),
    ]
    pod_selector: Annotated[str, Option("Evict only pods with these labels.", "", "LABELS", group=KUBECTL)]
    parallel: Annotated[int, Option("How many nodes to drain at once; kubectl drains one.", 1, "N", min=1)]
    order: Annotated[bool, Option("Find the order of the nodes that does the least harm, and drain in that order.")]


class DrainArguments(NodeSelection, DrainFlags, MaintenanceOptions, total=False):
    """Which nodes, flags of the drain, how long things take, and which processes play the scenarios of `each`."""


class OutageFlags(TypedDict, total=False):
    """How the nodes fail, and kube-controller-manager's flag."""

    deleted: Annotated[bool, Option("The Node objects are deleted as well. Without this, only their kubelets stop.")]
    node_monitor_grace_period: Annotated[
        str, Option("How long a kubelet may be silent before its node counts as lost.", "50s", "DURATION")
    ]


class OutageArguments(NodeSelection, OutageFlags, MaintenanceOptions, total=False):
    """Which nodes, how they fail, how long things take, and which processes play the scenarios of `each`."""


class AuditArguments(MaintenanceOptions, total=False):
    """What is asked and what is accepted, how long things take, and which processes play the what-ifs."""

    only: Annotated[str, Option("Only these kinds of what-ifs, such as outage,drain. Default: all.", "", "LIST")]
    explain: Annotated[str, Option("Explain one finding: what shows it, the proof, and what helps.", "", "ID")]
    baseline: Annotated[
        str, Option("A file of accepted findings, which do not fail. -o baseline writes such a file.", "", "FILE")
    ]
    budget: Annotated[
        str,
        Option(
            "Stop after this time, with what is known so far; 0: no limit.",
            "0",
            "DURATION",
            check="kwhatif.kube.model.quantity:parse_timeout",
        ),
    ]
    fixes: Annotated[int, Option("Look for the smallest fix of the N worst findings.", 10, "N", min=0)]
    owner_label: Annotated[
        str, Option("The label of workloads, or of their namespaces, that names an owner.", "team", "KEY")
    ]


class ThreatsArguments(PodSelection, MaintenanceOptions, total=False):
    """Which pods, what is asked, how long things take, and which processes play what happens to nodes."""

    only: Annotated[
        str, Option("Only these kinds of threats, such as pending,template,class. Default: all.", "", "LIST")
    ]


class CompareArguments(TypedDict, total=False):
    """How long causes are looked for."""

    tries: Annotated[
        int, Option("Try at most N sets of changes for each answer; 0: do not look for causes.", 500, "N", min=0)
    ]
