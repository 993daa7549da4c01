"""Nothing that was not judged is a plain yes: what the input lacks, and what is not modelled, changes the verdict."""

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests.cli.running import Ran, run

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "1", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-11-21T07:10:00Z"}]
"""
OLD = """\
apiVersion: v1
kind: Pod
metadata: {name: old, namespace: shop, labels: {app: old}}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""
SMALL = """\
apiVersion: v1
kind: Pod
metadata: {name: small, namespace: shop}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}
"""
CLASS = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
"""
EVICTOR = SMALL.replace("100m", '"1"').replace("spec: {", "spec: {priorityClassName: high, ")
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
"""
QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: ml}\n"
LIMITS = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: ml}\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: shop}\n"
#: Two hours after the node has reported.
TWO_HOURS_LATER = "1795252200"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text)


def asked(command: str, *documents: str) -> Ran:
    Path("cluster.yaml").write_text("---\n".join(documents or (NODE, OLD, CLASS)))
    return run(f"kwhatif {command} --from cluster.yaml")


def account(namespace: str, name: str) -> str:
    return f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: {namespace}}}\n"


def as_flow(block: str) -> str:
    """A mapping of two lines as one in braces."""
    return "{" + ", ".join(block.splitlines()) + "}"


def first(ran: Ran) -> str:
    return ran.stdout.splitlines()[0]


def flat(text: str) -> str:
    return " ".join(text.split())


def policy(**rules: Any) -> str:
    Path("policy.yaml").write_text(json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "Policy", **rules}))
    return "--policy policy.yaml"


class TestWhatADumpLacks:
    def test_pods(self) -> None:
        write(small=SMALL)
        ran = asked("schedule small.yaml -q", NODE)
        assert ran.code == 0
        assert flat(ran.stdout) == (
            "! shop/small lands on n1, the only one of 1 node that it fits on; but no pod is known, so every node counts"
            " as empty"
        )
        assert asked("schedule small.yaml -q --strict", NODE).code == 1
        assert asked("schedule small.yaml -q --fail-on no-pods", NODE).code == 1
        assert asked("schedule small.yaml -q --fail-on no-budgets", NODE).code == 0

    def test_pods_in_a_gate(self) -> None:
        write(small=SMALL)
        ran = asked("gate small.yaml", NODE)
        assert (ran.code, first(ran)) == (
            0,
            "! The gate passes, but no pod is known, so every node counts as empty: 1 workload, 1 pod; 1 warning",
        )
        strict = asked("gate small.yaml --strict", NODE)
        assert (strict.code, "Caveats" in strict.stdout) == (1, False)
        assert asked(f"gate small.yaml {policy(caveats={'no-pods': 'fail'})}", NODE).code == 1
        let = asked(f"gate small.yaml {policy(caveats={'no-*': 'pass'})} --strict", NODE)
        assert (let.code, first(let)) == (0, "✔ The gate passes: 1 workload, 1 pod")

    def test_budgets(self) -> None:
        write(evictor=EVICTOR)
        ran = asked("preempt evictor.yaml -q")
        assert flat(ran.stdout) == (
            "! shop/small fits only by preemption: would evict pod shop/old (priority 0) on n1, and no budget is known,"
            " so whether that violates one is unknown"
        )
        assert "no-budgets" in [
            row["code"] for row in json.loads(asked("preempt evictor.yaml -o json").stdout)["caveatDetails"]
        ]
        assert asked("preempt evictor.yaml -q --strict").code == 1

    def test_what_it_lacks_is_one_line(self) -> None:
        write(evictor=EVICTOR)
        ran = asked("preempt evictor.yaml")
        assert "the dump has no PodDisruptionBudgets, LimitRanges, ResourceQuotas and Namespaces: " in flat(ran.stdout)
        assert ran.stdout.count("•") == 1


class TestAge:
    def test_of_a_dump(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write(small=SMALL.replace("100m", "0"))
        monkeypatch.setenv("SOURCE_DATE_EPOCH", TWO_HOURS_LATER)
        ran = asked("schedule small.yaml -q")
        assert flat(ran.stdout).endswith("; but the cluster is as of 2h ago")
        made = json.loads(asked("schedule small.yaml -o json").stdout)
        assert made["snapshot"]["takenAt"] == "2026-11-21T07:10:00Z"
        (stale,) = [row for row in made["caveatDetails"] if row["code"] == "stale-snapshot"]
        assert (stale["age"], stale["missing"], stale["message"] in made["caveats"]) == (7200, False, True)

    @pytest.mark.parametrize(
        "question",
        [
            "simulate small.yaml",
            "drain n1 --force",
            "outage n1 --fail-on none",
            "drain --each n1 --force",
            "deschedule --strategy PodLifeTime --fail-on none",
        ],
    )
    def test_where_much_happens(self, question: str, monkeypatch: pytest.MonkeyPatch) -> None:
        write(small=SMALL.replace("100m", "0"))
        monkeypatch.setenv("SOURCE_DATE_EPOCH", TWO_HOURS_LATER)
        ran = asked(f"{question} -q")
        assert (ran.code, first(ran)[0] in "!✘") == (0, True)
        assert flat(ran.stdout).endswith(("the cluster is as of 2h ago", "; 1 more caveat"))  # one at most, in one line
        assert "2h" in flat(asked(question).stdout).partition("Caveats")[2]
        assert "✅" not in asked(f"{question} -o markdown").stdout

    @pytest.mark.parametrize(("limit", "code"), [("1h", 1), ("3h", 0), ("30m", 1)])
    def test_a_policy_can_bound_it(self, limit: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
        write(small=SMALL.replace("100m", "0"))
        monkeypatch.setenv("SOURCE_DATE_EPOCH", TWO_HOURS_LATER)
        ran = asked(f"gate small.yaml -q {policy(snapshot={'maxAge': limit})}")
        assert (ran.code, first(ran)[0]) == (code, "✘" if code else "✔")

    def test_of_a_file_written_by_hand_nobody_knows(self) -> None:
        write(small=SMALL.replace("100m", "0"))
        by_hand = NODE[: NODE.index("  conditions")]
        ran = asked(f"gate small.yaml {policy(snapshot={'maxAge': '1h'})}", by_hand, OLD)
        assert (ran.code, "the age of the dump is not known" in first(ran)) == (0, True)
        assert json.loads(asked("gate small.yaml -o json", by_hand, OLD).stdout)["snapshot"]["takenAt"] is None

    LEASE = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: n1}\nspec: {renewTime: '2026-11-21T06:50:00.123456Z'}\n"
    EVENT = "apiVersion: v1\nkind: Event\nmetadata: {name: e}\nlastTimestamp: '2026-11-21T07:00:00Z'\neventTime: null\n"
    NEW_EVENT = (
        "apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: e}\neventTime: '2026-11-21T07:01:02.000000Z'\n"
    )
    TRIED = OLD + "status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-11-21T06:00:00Z'}]}\n"

    @pytest.mark.parametrize(
        ("documents", "time"),
        [
            ((LEASE, TRIED), "2026-11-21T06:50:00Z"),
            ((LEASE, EVENT), "2026-11-21T07:00:00Z"),
            ((EVENT, NEW_EVENT), "2026-11-21T07:01:02Z"),
            ((TRIED,), "2026-11-21T06:00:00Z"),
        ],
    )
    def test_of_a_dump_whose_nodes_do_not_report(self, documents: tuple[str, ...], time: str) -> None:
        write(small=SMALL.replace("100m", "0"))
        silent = NODE[: NODE.index("  conditions")]
        made = json.loads(asked("schedule small.yaml -o json", silent, *documents).stdout)
        assert made["snapshot"]["takenAt"] == time
        reporting = json.loads(asked("schedule small.yaml -o json", NODE, *documents).stdout)
        assert reporting["snapshot"]["takenAt"] == "2026-11-21T07:10:00Z"

    @pytest.mark.parametrize("time", ["yesterday", "2026-11-21T07:10:00", "2026-13-41T00:00:00Z", ""])
    def test_a_time_that_is_none_is_not_known(self, time: str) -> None:
        write(small=SMALL.replace("100m", "0"))
        saved = f"apiVersion: kwhatif.dev/v1\nkind: SavedSnapshot\nmetadata: {{name: s}}\ntakenAt: '{time}'\n"
        ran = asked("schedule small.yaml -o json", saved, NODE, OLD)
        assert json.loads(ran.stdout)["snapshot"]["takenAt"] is None
        assert asked("schedule small.yaml", saved, NODE, OLD).code == 0

    def test_what_is_saved_of_a_dump_is_as_old_as_the_dump(self) -> None:
        asked("snapshot save saved.json")
        assert kwhatif.describe("saved.json").saved[0].taken_at == "2026-11-21T07:10:00Z"
        assert "lastHeartbeatTime" not in Path("saved.json").read_text()


class TestWhatIsNotModelled:
    def test_pod_security(self) -> None:
        labels = "{pod-security.kubernetes.io/enforce: restricted}"
        write(
            locked=f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: locked, labels: {labels}}}\n---\n"
            + SMALL.replace("namespace: shop", "namespace: locked")
            .replace("100m", "0")
            .replace("spec: {", "spec: {serviceAccountName: robot, ")
        )
        ran = asked("gate locked.yaml")
        assert (ran.code, first(ran)) == (1, "✘ The gate fails: 1 workload, 1 pod; 1 failure")
        assert "PodSecurity" in flat(ran.stdout)
        assert "whether there is ServiceAccount locked/robot is not checked" in flat(ran.stdout)
        assert asked(f"gate locked.yaml {policy(caveats={'service-accounts': 'fail'})}").code == 1

    def test_service_accounts_that_come_along_are_there(self) -> None:
        account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: shop}\n---\n"
        write(pod=account + SMALL.replace("100m", "0").replace("spec: {", "spec: {serviceAccountName: robot, "))
        made = json.loads(asked(f"gate pod.yaml -o json {policy()}").stdout)
        assert "service-accounts" not in [row["code"] for row in made["caveatDetails"]]

    @pytest.mark.parametrize(
        ("accounts", "codes"),
        [
            ((), ["service-accounts"]),
            (("shop/robot",), []),
            (("shop/default",), ["missing-service-account"]),
            (("ml/robot",), ["service-accounts"]),
        ],
        ids=["none in the dump", "this one", "others of its namespace", "of another namespace"],
    )
    def test_service_accounts_of_the_dump(self, accounts: tuple[str, ...], codes: list[str]) -> None:
        write(pod=SMALL.replace("100m", "0").replace("spec: {", "spec: {serviceAccountName: robot, "))
        made = [account(*name.split("/")) for name in accounts]
        found = json.loads(asked("gate pod.yaml -o json", NODE, OLD, *made).stdout)["caveatDetails"]
        assert [row["code"] for row in found if "account" in row["code"]] == codes
        missing = "missing-service-account" in codes
        assert asked("gate pod.yaml --strict", NODE, OLD, NAMESPACE, SERVICE, QUOTA, LIMITS, *made).code == int(missing)
        said = "but ServiceAccount shop/robot is missing" in first(asked("gate pod.yaml", NODE, OLD, *made))
        assert said is missing

    def test_admission_webhooks_of_the_dump(self) -> None:
        write(small=SMALL.replace("100m", "0"))
        webhook = (
            "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\n"
            'webhooks: [{name: w, rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]}]\n'
        )
        ran = asked("gate small.yaml", NODE, OLD, webhook)
        assert first(ran).startswith("! The gate passes, but admission webhooks are not asked: ")

    @pytest.mark.parametrize("version", ["v1", "v2"])
    @pytest.mark.parametrize("is_list", [False, True])
    def test_autoscalers_of_the_dump(self, version: str, *, is_list: bool) -> None:
        write(web=WEB)
        scaler = f"apiVersion: autoscaling/{version}\nkind: HorizontalPodAutoscaler\n"
        rest = "metadata: {name: a, namespace: shop}\nspec: {scaleTargetRef: {kind: Deployment, name: NAME}, maxReplicas: 9}\n"
        if is_list:
            scaler, rest = scaler.replace("scaler\n", "scalerList\n"), f"items: [{as_flow(rest)}]\n"
        ran = asked("gate web.yaml", NODE, OLD, scaler + rest.replace("NAME", "web"))
        gated = "kwhatif gate web.yaml --from cluster.yaml"
        assert "the metrics of the autoscaler of Deployment shop/web are not modelled" in first(ran)
        said = "HorizontalPodAutoscaler shop/a (1 to 9 replicas): what its metrics ask for is not modelled"
        assert said in run(f"{gated} -o json").stdout
        assert "autoscaler" not in asked("gate web.yaml", NODE, OLD, scaler + rest.replace("NAME", "other")).stdout

    @pytest.mark.parametrize("part", ["nodeAllocatableResourceMappings: {cpu: {}}", "attributes: {a: {ints: [1, 2]}}"])
    def test_devices_with_features_that_are_not_modelled(self, part: str) -> None:
        write(small=SMALL.replace("100m", "0"))
        devices = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"
        devices += f"spec: {{driver: d, nodeName: n1, pool: {{name: p}}, devices: [{{name: a, {part}}}]}}\n"
        ran = asked(f"gate small.yaml {policy(caveats={'devices-not-modelled': 'fail'})}", NODE, OLD, devices)
        assert (ran.code, part.partition(":")[0] in ran.stdout) == (1, True)

    def test_rules_about_devices_where_no_rule_counts(self) -> None:
        rule = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\n"
        write(rule=f"{rule}---\n{SMALL}", small=SMALL)
        ignored = "1 DeviceTaintRule (r) counts nothing, as the feature gate DRADeviceTaintRules is off in 1.36"
        assert ignored in flat(asked("schedule rule.yaml --kubernetes-version 1.36").stdout)
        assert ignored in flat(asked("schedule small.yaml --kubernetes-version 1.36", NODE, OLD, rule).stdout)
        assert "counts nothing" not in asked("schedule small.yaml --kubernetes-version 1.37", NODE, OLD, rule).stdout

    def test_gates_are_named(self) -> None:
        write(gated=SMALL.replace("spec: {", "spec: {schedulingGates: [{name: example.com/wait}], "))
        found = json.loads(asked("gate gated.yaml -o json").stdout)["policy"]["findings"]
        assert ("gated", "is not queued: waiting for scheduling gates: [example.com/wait]") in [
            (row["rule"], row["message"]) for row in found
        ]


class TestNothingJudged:
    SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: shop}\nspec: {}\n"

    def test_no_workload(self) -> None:
        write(service=self.SERVICE)
        ran = asked("gate service.yaml")
        assert (ran.code, first(ran)) == (
            0,
            "! The gate passes, but nothing was judged: 0 workloads, 0 pods; 1 warning",
        )
        assert asked(f"gate service.yaml {policy(caveats={'nothing-judged': 'fail'})}").code == 1
        assert asked("gate service.yaml --strict").code == 1

    def test_a_kustomization_that_is_not_built(self) -> None:
        Path("k").mkdir()
        Path("k/kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
        ran = asked("gate k")
        assert ran.code == 0
        assert first(ran).startswith("! The gate passes, but nothing was judged; 1 more caveat: ")
        assert "k/kustomization.yaml" in ran.stdout
        assert asked(f"gate k {policy(caveats={'not-built': 'fail'})}").code == 1


class TestPolicy:
    def test_who_may_suppress_what(self) -> None:
        ignored = 'metadata: {annotations: {kwhatif.dev/ignore: "*: trust me"}, '
        write(evictor=EVICTOR.replace("metadata: {", ignored))
        asked_for = {"preemption": "fail", "caveats": {"*": "pass"}}
        assert asked(f"gate evictor.yaml {policy(**asked_for)}").code == 0
        ran = asked(f"gate evictor.yaml {policy(**asked_for, annotations={'allow': ['unschedulable']})}")
        assert ran.code == 1
        assert "the policy does not let an annotation" in flat(ran.stdout)

    def test_mistakes_are_bad_input_with_the_line_and_what_is_near(self) -> None:
        write(small=SMALL)
        Path("policy.yaml").write_text("apiVersion: kwhatif.dev/v1\nkind: Policy\npremption: fail\ngated: failed\n")
        ran = asked("gate small.yaml --policy policy.yaml")
        assert (ran.code, ran.stderr.splitlines()) == (
            3,
            [
                "error: policy.yaml, line 3: premption: unknown field; did you mean preemption?",
                "error: policy.yaml, line 4: gated: must be one of fail, ignore, pass, warn; it is 'failed'",
            ],
        )

    def test_the_report_names_the_policy_and_the_library_finds_the_same_one(self) -> None:
        write(small=SMALL.replace("100m", "0"))
        assert "By the default policy" in asked("gate small.yaml").stdout.splitlines()
        policy(unschedulable="warn")
        Path("policy.yaml").rename("kwhatif.yaml")
        assert "By the policy in kwhatif.yaml" in asked("gate small.yaml").stdout.splitlines()
        report = kwhatif.gate(kwhatif.load("cluster.yaml"), "small.yaml")
        assert report.policy is not None
        assert report.policy.source == "kwhatif.yaml"

    @pytest.mark.parametrize("name", ["budget-violation", "budgetViolation", "pdb-violation"])
    def test_budgets_have_several_names_on_the_command_line(self, name: str) -> None:
        write(evictor=EVICTOR)
        budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: shop}\n"
        budget += "spec: {minAvailable: 1, selector: {matchLabels: {app: old}}}\n"
        assert asked(f"preempt evictor.yaml -q --fail-on {name}", NODE, OLD, CLASS, budget).code == 1
        assert asked(f"preempt evictor.yaml -q --fail-on {name}").code == 0

    def test_what_is_near_to_a_condition(self) -> None:
        write(small=SMALL)
        ran = asked("schedule small.yaml --fail-on no-budget")
        assert (ran.code, "did you mean no-budgets?" in flat(ran.stderr)) == (2, True)


def test_an_upgrade_says_what_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", TWO_HOURS_LATER)
    write(cluster=NODE)
    ran = run("kwhatif upgrade --to 1.35 --from cluster.yaml")
    assert "; but the cluster is as of " in " ".join(ran.stdout.split("kube-scheduler")[0].split())


def test_a_dump_without_objects_holds_nothing() -> None:
    write(empty="{apiVersion: v1, kind: List, items: []}\n")
    assert "holds no object that scheduling depends on" in run("kwhatif snapshot info empty.yaml").stdout
