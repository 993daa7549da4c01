"""What the command line prints for people, byte for byte: fixtures/cli/<case>.txt holds command, exit code and both streams.

What programs read is in `test_machine_formats`.

`pytest tests/cli --update-golden` rewrites them; look at the difference before committing it.
"""

from __future__ import annotations

import pytest

from tests import FIXTURES
from tests.cli.running import run

GOLDENS = FIXTURES / "cli"
FROM = "--from fixtures/demo/cluster.yaml"
QUEUE = f"{FROM} --from fixtures/demo/pending.yaml"
DESCHEDULE = f"--policy fixtures/demo/descheduler.yaml {FROM}"
GROUPS = "--node-groups fixtures/demo/groups.yaml"
CLOUD = "--from fixtures/cloud/cluster.yaml"
DAYS = "fixtures/compare/monday.yaml fixtures/compare/tuesday.yaml"
AUDIT = "--from fixtures/audit/mixed-platform.yaml"
GATE = "kwhatif gate fixtures/gate/manifests"
POLICY = "--policy fixtures/gate/kwhatif.yaml"
EIGHT = "fixtures/gangs/demo/eight.yaml"
GANGS = "--from fixtures/gangs/demo/cluster.yaml --kubernetes-version 1.37"
RACKS = "--feature-gates GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
RUNNING = "--from fixtures/gangs/demo/running.yaml"
COMMANDS = {
    "schedule-placed": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM}",
    "schedule-placed-wide": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} -o wide",
    "schedule-preempts": f"kwhatif schedule fixtures/demo/pods/checkout.yaml {FROM}",
    "schedule-spread": f"kwhatif schedule fixtures/demo/pods/replica.yaml {FROM}",
    "schedule-never": f"kwhatif schedule fixtures/demo/pods/patient.yaml {FROM}",
    "schedule-impossible": f"kwhatif schedule fixtures/demo/pods/impossible.yaml {FROM}",
    "schedule-many-quiet": f"kwhatif schedule fixtures/demo/pods {FROM} -q",
    "preempt": f"kwhatif preempt fixtures/demo/pods/inference.yaml {FROM}",
    "preempt-explain": f"kwhatif preempt fixtures/demo/pods/inference.yaml {FROM} --explain",
    "preempt-explain-never": f"kwhatif preempt fixtures/demo/pods/patient.yaml {FROM} --explain",
    "preempt-nothing-pending": f"kwhatif preempt {FROM}",
    "queue": f"kwhatif queue {QUEUE}",
    "queue-explain": f"kwhatif queue {QUEUE} --explain",
    "queue-named": f"kwhatif queue report pod/batch/trainer {QUEUE} -n shop --fail-on unschedulable",
    "queue-namespace": f"kwhatif queue {QUEUE} -n batch",
    "queue-if": f"kwhatif queue {QUEUE} --if 'add 1 node like general-a1' --fail-on not-requeued",
    "queue-if-named": f"kwhatif queue shop/index {QUEUE} --if 'delete pod/shop/index' --if 'scale deploy/shop/web=8' -n shop",
    "queue-if-markdown": f"kwhatif queue {QUEUE} --if 'label node/general-b1 disk=ssd' -o markdown",
    "queue-markdown": f"kwhatif queue {QUEUE} --explain -o markdown",
    "queue-quiet": f"kwhatif queue {QUEUE} -q",
    "queue-events": f"kwhatif queue {QUEUE} --from fixtures/demo/events.yaml --explain",
    "queue-events-markdown": f"kwhatif queue {QUEUE} --from fixtures/demo/events.yaml --explain -o markdown",
    "queue-nothing-pending": f"kwhatif queue {FROM}",
    "advise": f"kwhatif advise fixtures/demo/pods/checkout.yaml {FROM}",
    "advise-pending": f"kwhatif advise pod/shop/report pod/shop/ledger po/batch/trainer -n shop {QUEUE}",
    "advise-markdown": f"kwhatif advise fixtures/demo/pods {FROM} -o markdown --most 2",
    "advise-for-gate": f"kwhatif advise fixtures/demo/pods {FROM} --for gate --workloads 2",
    "advise-quiet": f"kwhatif advise fixtures/demo/pods {FROM} -q --fail-on none",
    "advise-nothing": f"kwhatif advise fixtures/demo/pods/small.yaml {FROM}",
    "advise-edited": f"kwhatif advise fixtures/demo/pods/checkout.yaml {FROM} --if 'add 1 node like general-a1'",
    "advise-unknown": f"kwhatif advise pod/shop/reprot {QUEUE}",
    "advise-for-gate-json": f"kwhatif advise fixtures/demo/pods {FROM} --for gate -o json",
    "autoscale": f"kwhatif autoscale {GROUPS} {QUEUE}",
    "autoscale-manifest": f"kwhatif autoscale fixtures/demo/pods/small.yaml {GROUPS} {FROM}",
    "autoscale-wide": f"kwhatif autoscale {GROUPS} {QUEUE} -o wide --fail-on none",
    "autoscale-markdown": f"kwhatif autoscale {GROUPS} {QUEUE} -o markdown",
    "autoscale-nothing": f"kwhatif autoscale {GROUPS} {FROM} -q",
    "autoscale-unknown-groups": f"kwhatif autoscale {QUEUE} -q --autoscaler cluster-autoscaler",
    "autoscale-refused": f"kwhatif autoscale --node-groups fixtures/cluster_autoscaler/refused.yaml {FROM}",
    "autoscale-both": f"kwhatif autoscale {GROUPS} --instance-types fixtures/karpenter/types.json {FROM}",
    "autoscale-when": f"kwhatif autoscale {GROUPS} {FROM} --at yesterday",
    "consolidate": f"kwhatif consolidate {GROUPS} {FROM}",
    "consolidate-markdown": f"kwhatif consolidate {GROUPS} {FROM} -o markdown",
    "consolidate-explain": f"kwhatif consolidate {GROUPS} {FROM} --explain node/general-c1",
    "consolidate-explain-goes": f"kwhatif consolidate {GROUPS} {FROM} --explain batch-a1 --fail-on removed",
    "consolidate-explain-unknown": f"kwhatif consolidate {GROUPS} {FROM} --explain node/general-x1",
    "deschedule": f"kwhatif deschedule {DESCHEDULE}",
    "deschedule-wide": f"kwhatif deschedule {DESCHEDULE} -o wide --rounds 1",
    "deschedule-markdown": f"kwhatif deschedule {DESCHEDULE} -o markdown",
    "deschedule-strategy": f"kwhatif deschedule --strategy RemoveDuplicates {FROM} --fail-on endless",
    "deschedule-nothing": f"kwhatif deschedule --strategy PodLifeTime {FROM} -q",
    "deschedule-later": f"kwhatif deschedule --strategy PodLifeTime {FROM} -q --at 2026-12-01T00:00:00Z --fail-on evictions",
    "deschedule-refused": f"kwhatif deschedule --policy fixtures/descheduler/refused.yaml {FROM}",
    "deschedule-both": f"kwhatif deschedule {DESCHEDULE} --strategy RemoveDuplicates",
    "deschedule-unknown": f"kwhatif deschedule --strategy RemoveDuplicate {FROM}",
    "deschedule-compare": f"kwhatif deschedule {DESCHEDULE} --if 'cordon general-a1' --compare",
    "deschedule-edited": f"kwhatif deschedule {DESCHEDULE} --if 'cordon general-a1' -q --fail-on none",
    "deschedule-when": f"kwhatif deschedule {DESCHEDULE} --at yesterday",
    "upgrade": f"kwhatif upgrade --to 1.35 {QUEUE}",
    "upgrade-quiet": f"kwhatif upgrade --to 1.35 {FROM} -q --fail-on changed",
    "upgrade-markdown": f"kwhatif upgrade --to 1.35 {FROM} -o markdown",
    "upgrade-same": f"kwhatif upgrade --to 1.36 {FROM}",
    "upgrade-far": f"kwhatif upgrade --to 1.99 {FROM} -q",
    "upgrade-unknown": f"kwhatif upgrade --to next {FROM}",
    "upgrade-compare": f"kwhatif upgrade --to 1.35 {FROM} --if 'cordon general-a1' --compare",
    "upgrade-edited": f"kwhatif upgrade --to 1.35 {FROM} --if 'cordon general-a1' -q",
    "queue-unknown": f"kwhatif queue shop/reprot default/x deploy/shop/web /x {QUEUE}",
    **{
        f"cloud-{command}-{name}": f"kwhatif {command} fixtures/cloud/{name}.yaml {CLOUD}"
        for command, name in (
            ("schedule", "misspelled"),
            ("schedule", "notoleration"),
            ("schedule", "promo"),
            ("preempt", "evictor"),
            ("preempt", "gpus"),
        )
    },
    "cloud-markdown": f"kwhatif schedule fixtures/cloud/misspelled.yaml fixtures/cloud/evictor.yaml {CLOUD} -o markdown",
    "cloud-gate-markdown": f"kwhatif gate fixtures/cloud/misspelled.yaml {CLOUD} -o markdown",
    "cloud-gate": f"kwhatif gate fixtures/cloud/misspelled.yaml fixtures/cloud/promo.yaml {CLOUD} -o wide",
    "gate": f"{GATE} {FROM}",
    "gate-wide": f"{GATE} {FROM} -o wide",
    "gate-quiet": f"{GATE} {FROM} -q",
    "gate-policy": f"{GATE} {FROM} {POLICY}",
    "gate-broken": f"kwhatif gate fixtures/gate/broken {FROM}",
    "gate-glob": f"kwhatif gate 'fixtures/gate/manifests/*e*.yaml' {FROM} -q",
    "gate-final": f"kwhatif gate fixtures/gate/updates {FROM} --rollout final",
    "gate-end": f"kwhatif gate fixtures/gate/updates {FROM}",
    "gate-surge": f"kwhatif gate fixtures/gate/updates {FROM} --rollout surge",
    **{
        f"gate-ordered-{output}": f"kwhatif gate fixtures/gate/ordered {FROM} -o {output}"
        for output in ("wide", "markdown")
    },
    "gate-custom": f"kwhatif gate fixtures/gate/custom.yaml {FROM} --pod-template-path Rollout=.spec.template",
    "gate-strict": f"kwhatif gate fixtures/gate/widget.yaml {FROM} --strict",
    "gate-markdown": f"{GATE} fixtures/gate/broken {FROM} {POLICY} -o markdown",
    "gate-wrong-policy": f"kwhatif gate fixtures/gate/custom.yaml {FROM} --policy fixtures/gate/wrong-policy.yaml",
    "gate-wrong-path": f"kwhatif gate fixtures/gate/custom.yaml {FROM} --pod-template-path Rollout=.spec.pod",
    "edits-schedule": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --if 'cordon general-a*' --if 'scale deploy/shop/web=7'",
    "edits-markdown": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --if 'add 2 nodes like general-a1' -o markdown",
    "edits-preempt": f"kwhatif preempt fixtures/demo/pods/inference.yaml {FROM} --if 'budget ml/trainer minAvailable=100%'",
    "edits-gate": f"kwhatif gate fixtures/gate/updates {FROM} --if 'delete node/general-a1'",
    "edits-refused": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --if 'cordon general-a9' --if 'cordn x' --if 'drain general-a1'",
    "simulate": f"kwhatif simulate fixtures/demo/pods/checkout.yaml {FROM}",
    "simulate-explain": f"kwhatif simulate fixtures/demo/pods/checkout.yaml {FROM} --explain",
    "simulate-then": f"kwhatif simulate {FROM} --then 'drain general-a1 --ignore-daemonsets' --then 'scale deploy/shop/web=7' --termination 3s",
    "simulate-markdown": "kwhatif simulate --from fixtures/stories/073-anti-affinity-preempts/cluster.yaml --scenario fixtures/simulate/endless.yaml -o markdown",
    "simulate-runs": f"kwhatif simulate fixtures/demo/pods/checkout.yaml {FROM} --then 'drain general-a1 --ignore-daemonsets' --runs 12 --seed 7 --termination 3s",
    "simulate-runs-markdown": f"kwhatif simulate fixtures/demo/pods/checkout.yaml {FROM} --runs 5 -o markdown",
    "schedule-aftermath": f"kwhatif schedule fixtures/demo/pods/checkout.yaml {FROM} --aftermath",
    "schedule-aftermath-markdown": f"kwhatif schedule fixtures/demo/pods/checkout.yaml {FROM} --aftermath -o markdown",
    "schedule-aftermath-refused": f"kwhatif schedule fixtures/demo/pods/inference.yaml {FROM} --aftermath",
    "preempt-aftermath-endless": "kwhatif preempt fixtures/simulate/vip.yaml --from fixtures/stories/073-anti-affinity-preempts/cluster.yaml --aftermath",
    "gate-aftermath": f"kwhatif gate fixtures/gate/updates {FROM} --policy fixtures/gate/aftermath.yaml",
    "simulate-nothing": f"kwhatif simulate {FROM}",
    "simulate-endless": "kwhatif simulate --from fixtures/stories/073-anti-affinity-preempts/cluster.yaml --scenario fixtures/simulate/endless.yaml",
    "simulate-failed": f"kwhatif simulate {FROM} --then 'drain general-a1'",
    "simulate-quota": f"kwhatif simulate fixtures/demo/pods/inference.yaml {FROM}",
    "simulate-wrong": f"kwhatif simulate --scenario fixtures/simulate/wrong.yaml {FROM}",
    "simulate-refused": f"kwhatif simulate {FROM} --then 'cordon general-a1' --then 'cordon general-a1'",
    "edits-compare": f"kwhatif schedule fixtures/demo/pods {FROM} --if 'add 1 node like general-a1' --compare",
    "edits-compare-preempt": f"kwhatif preempt fixtures/demo/pods/checkout.yaml {FROM} --if 'delete node/general-b2' --compare",
    "edits-compare-simulate": f"kwhatif simulate fixtures/demo/pods/checkout.yaml {FROM} --if 'cordon general-b2' --compare",
    "edits-compare-gate": f"kwhatif gate fixtures/gate/updates {FROM} --if 'cordon general-*' --compare",
    "edits-compare-markdown": f"kwhatif gate fixtures/gate/updates {FROM} --if 'scale deploy/shop/api=3' --compare -o markdown",
    "edits-compare-same": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --if 'cordon batch-a1' --compare",
    "edits-compare-junit": f"kwhatif gate fixtures/gate/updates {FROM} --if 'cordon batch-a1' --compare -o junit",
    "edits-compare-nothing": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --compare",
    "edits-file": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --edits fixtures/edits/edits.yaml",
    "drain": f"kwhatif drain general-a1 --ignore-daemonsets {FROM}",
    "drain-blocked": f"kwhatif drain general-a2 --ignore-daemonsets --timeout 12s {FROM}",
    "drain-refused": f"kwhatif drain general-a1 {FROM} -o wide",
    "drain-several": f"kwhatif drain 'general-b*' --ignore-daemonsets {FROM}",
    "drain-selector": f"kwhatif drain -l pool=batch --ignore-daemonsets -q {FROM}",
    "drain-both": f"kwhatif drain general-a1 -l pool=batch {FROM}",
    "drain-nothing": f"kwhatif drain {FROM}",
    "drain-unknown": f"kwhatif drain general-a9 {FROM}",
    "drain-wrong-selector": f"kwhatif drain general-a1 --pod-selector a=b=c {FROM}",
    "drain-wrong-timeout": f"kwhatif drain general-a1 --timeout soon {FROM}",
    "drain-each": f"kwhatif drain --each '*' --ignore-daemonsets {FROM}",
    "outage-each": f"kwhatif outage --each topology.kubernetes.io/zone {FROM}",
    "outage-each-unknown": f"kwhatif outage --each rack {FROM}",
    "outage": f"kwhatif outage general-a1 {FROM}",
    "outage-zone": f"kwhatif outage topology.kubernetes.io/zone=eu-west-1b {FROM}",
    "threats": f"kwhatif threats deploy/shop/api {FROM}",
    "threats-wide": f"kwhatif threats deploy shop/api {FROM} --only pending,template,class -o wide --fail-on threatened",
    "threats-markdown": f"kwhatif threats node/general-b2 {FROM} --only class,drain -o markdown",
    "threats-unknown": f"kwhatif threats pod/shop/api {FROM}",
    "who-fits": f"kwhatif who-fits general-a1 {QUEUE}",
    "who-fits-quiet": f"kwhatif who-fits node/control-1 {FROM} -q",
    "resize": f"kwhatif resize pod/shop/api-64f75d757d-472td --requests cpu=1 --limits cpu=2 {FROM}",
    "resize-deferred": f"kwhatif resize shop/api-64f75d757d-472td --requests cpu=3 --limits cpu=4 {FROM}",
    "resize-refused": f"kwhatif resize pod/shop/api-64f75d757d-472td --requests memory=2Gi,cpu=9 {FROM} -o markdown",
    "resize-nothing": f"kwhatif resize pod/shop/api-64f75d757d-472td {FROM}",
    "compare": f"kwhatif compare {DAYS} --question 'schedule fixtures/compare/shop.yaml' --question 'drain b1'",
    "compare-tries": f"kwhatif compare {DAYS} --question 'schedule fixtures/compare/shop.yaml' --tries 3 -o markdown",
    "compare-config": "kwhatif compare --from fixtures/compare/monday.yaml --config fixtures/compare/default.yaml"
    " --config fixtures/compare/binpack.yaml --question 'schedule fixtures/compare/small.yaml'",
    "compare-versions": f"kwhatif compare {QUEUE} --kubernetes-version 1.35 --kubernetes-version 1.37 -q",
    "compare-not-a-question": f"kwhatif compare {DAYS} --question 'schedul web.yaml'",
    "compare-one": "kwhatif compare fixtures/compare/monday.yaml",
    "audit": f"kwhatif audit {AUDIT}",
    "audit-explain": f"kwhatif audit {AUDIT} --explain demands-all-e95d0a67",
    "audit-explain-unknown": f"kwhatif audit {AUDIT} --explain demands-all-00000000",
    "audit-stopped": f"kwhatif audit {AUDIT} --budget 1ms --jobs 1",
    "audit-stopped-explain": f"kwhatif audit {AUDIT} --budget 1ms --jobs 1 --explain demands-all-00000000",
    "audit-json": "kwhatif audit --from fixtures/audit/budget-of-nothing.yaml --only budgets,outage -o json",
    "capacity": f"kwhatif capacity fixtures/demo/pods/small.yaml {FROM}",
    "capacity-like": f"kwhatif capacity like deploy/shop/web {FROM}",
    "capacity-preemption": f"kwhatif capacity deploy/shop/web --with-preemption {FROM}",
    "capacity-sets": f"kwhatif capacity '2*fixtures/demo/pods/small.yaml' deploy/shop/api {FROM}",
    "capacity-target": f"kwhatif capacity fixtures/demo/pods/small.yaml --target 43 -q {FROM}",
    "capacity-target-missed": f"kwhatif capacity fixtures/demo/pods/small.yaml --target 50 {FROM} -o wide",
    "capacity-target-preempting": f"kwhatif capacity fixtures/demo/pods/small.yaml --target 50 --with-preemption {FROM} -q",
    "capacity-none": f"kwhatif capacity fixtures/demo/pods/impossible.yaml {FROM}",
    "capacity-quota": f"kwhatif capacity deploy/ml/trainer {FROM}",
    "capacity-max": f"kwhatif capacity fixtures/demo/pods/small.yaml --max 5 {FROM}",
    "capacity-if": f"kwhatif capacity fixtures/demo/pods/small.yaml --if 'add 2 nodes like general-a1' -q {FROM}",
    "capacity-add-nodes": f"kwhatif capacity deploy/shop/web --target 50 --add-nodes-like general-a1 {FROM}",
    "capacity-add-nodes-useless": f"kwhatif capacity deploy/shop/web --target 50 --add-nodes-like gpu-a1 {FROM} -q",
    "capacity-add-nodes-quota": f"kwhatif capacity deploy/ml/trainer --target 5 --add-nodes-like gpu-a1 {FROM} -q",
    "capacity-add-no-nodes": f"kwhatif capacity deploy/shop/web --target 2 --add-nodes-like general-a1 {FROM} -q",
    "capacity-headroom": f"kwhatif capacity {FROM}",
    "capacity-markdown": f"kwhatif capacity fixtures/demo/pods/small.yaml deploy/shop/api --with-preemption {FROM} -o markdown",
    "capacity-headroom-markdown": f"kwhatif capacity {FROM} --max 3 -o markdown",
    "capacity-wrong": f"kwhatif capacity nowhere.yaml deploy/shop/wbe ds/platform/node-agent 0*fixtures/demo/pods/small.yaml {FROM}",
    "capacity-twice": f"kwhatif capacity fixtures/demo/pods/small.yaml fixtures/demo/pods/small.yaml {FROM}",
    "capacity-no-node": f"kwhatif capacity deploy/shop/web --target 9 --add-nodes-like general-a9 {FROM}",
    "capacity-no-target": f"kwhatif capacity deploy/shop/web --add-nodes-like general-a1 {FROM}",
    "capacity-high-target": f"kwhatif capacity deploy/shop/web --target 10001 --add-nodes-like general-a1 {FROM}",
    "capacity-nothing-named": f"kwhatif capacity --target 5 {FROM}",
    "capacity-two-limits": f"kwhatif capacity deploy/shop/web --target 5 --max 9 {FROM}",
    "capacity-compare": f"kwhatif capacity deploy/shop/web --if 'cordon general-a1' --compare {FROM}",
    "gang-schedule": f"kwhatif schedule {EIGHT} {GANGS}",
    "gang-schedule-markdown": f"kwhatif schedule {EIGHT} {GANGS} -o markdown",
    "gang-schedule-racks": f"kwhatif schedule fixtures/gangs/demo/train.yaml {GANGS} {RACKS}",
    "gang-gate": f"kwhatif gate {EIGHT} {GANGS}",
    "gang-gate-fits": f"kwhatif gate fixtures/gangs/demo/train.yaml {GANGS} {RACKS}",
    "gang-gate-quiet": f"kwhatif gate {EIGHT} {GANGS} -q",
    "gang-gate-markdown": f"kwhatif gate {EIGHT} {GANGS} -o markdown",
    "gang-queue": f"kwhatif queue {GANGS} --from {EIGHT}",
    "gang-queue-fits": f"kwhatif queue {GANGS} --from fixtures/gangs/demo/train.yaml {RACKS} --explain",
    "gang-queue-edits": f"kwhatif queue {GANGS} --from {EIGHT} --if 'add 2 nodes like b1'",
    "gang-capacity-kinds": f"kwhatif capacity {GANGS} {RUNNING}",
    "gang-alone": f"kwhatif schedule {EIGHT} {GANGS} --alone -q",
    "gang-queue-markdown": f"kwhatif queue {GANGS} --from {EIGHT} -o markdown",
    "gang-drain": f"kwhatif drain a1 --force {GANGS} {RUNNING}",
    "gang-drain-markdown": f"kwhatif drain a1 --force {GANGS} {RUNNING} -o markdown",
    "explain": "kwhatif explain",
    "explain-term": "kwhatif explain NotReady taint",
    "explain-unknown": "kwhatif explain nominatd",
    "missing-file": f"kwhatif schedule nowhere.yaml {FROM}",
    "version": "kwhatif --version",
    "fail-on-unknown": f"kwhatif schedule fixtures/demo/pods/small.yaml {FROM} --fail-on nonsense",
}


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_line_prints_what_it_printed(
    case: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDENS.parents[1])
    command = COMMANDS[case]
    ran = run(command)
    said = f"$ {command}\n[exit {ran.code}]\n--- stdout\n{ran.stdout}--- stderr\n{ran.stderr}"
    golden = GOLDENS / f"{case}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(said)
    assert golden.read_text() == said
