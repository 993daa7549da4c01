"""One thing wrong with a pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.admission.dice import EXTENDED, Json
from tests.differential.admission.parts import Parts


class Wrong(Parts):
    """Spoils pods."""

    def spoil(self, pod: Json) -> None:
        spec, choose = pod["spec"], self.dice.choice
        container = choose(spec["containers"] + spec.get("initContainers", []))
        resources = container.setdefault("resources", {})
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        wrongs: list[Callable[[], Any]] = [
            lambda: container.update(name=choose(("Main", "main_0", "", "x" * 64, "main-0"))),
            lambda: container.pop("image", None),
            lambda: resources.setdefault("requests", {}).update(cpu=choose(("-1", "8", "1n"))),
            lambda: resources.setdefault("limits", {}).update(memory=choose(("-1Gi", "1", "1m"))),
            lambda: resources.setdefault("requests", {}).update({EXTENDED: choose(("1", "500m"))}),
            lambda: resources.setdefault("requests", {}).update(
                {choose(("gpu", "Example.com/", "requests.cpu", "hugepages-x", "kubernetes.io/z")): "1"}
            ),
            lambda: container.setdefault("ports", []).append(
                {"containerPort": choose((0, 70000, -1, 80)), "hostPort": choose((0, 70000, 80))}
            ),
            lambda: container.setdefault("ports", []).append({"containerPort": 80, "protocol": "ICMP"}),
            lambda: container.update(restartPolicy=choose(("Sometimes", "Never"))),
            lambda: spec.update(restartPolicy="Sometimes"),
            lambda: spec.setdefault("tolerations", []).append(
                choose(
                    (
                        {"key": "a b"},
                        {"operator": "Equal", "value": "x"},
                        {"key": "a", "operator": "Exists", "value": "x"},
                        {"key": "a", "operator": "Gt", "value": "1"},
                        {"key": "a", "operator": "Is"},
                        {"key": "a", "effect": "Never", "operator": "Exists"},
                        {"key": "a", "operator": "Exists", "tolerationSeconds": 3},
                        {"key": "a", "value": "not a value!"},
                    )
                )
            ),
            lambda: spec.setdefault("topologySpreadConstraints", []).append(
                choose(
                    (
                        {
                            "maxSkew": 0,
                            "topologyKey": "zone",
                            "whenUnsatisfiable": "DoNotSchedule",
                            "labelSelector": {},
                        },
                        {"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"},
                        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Later"},
                        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2},
                        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 0},
                        {
                            "maxSkew": 1,
                            "topologyKey": "zone",
                            "whenUnsatisfiable": "DoNotSchedule",
                            "nodeTaintsPolicy": "No",
                        },
                        {
                            "maxSkew": 1,
                            "topologyKey": "zone",
                            "whenUnsatisfiable": "DoNotSchedule",
                            "matchLabelKeys": ["a b"],
                            "labelSelector": {},
                        },
                    )
                )
            ),
            lambda: (
                spec.setdefault("affinity", {})
                .setdefault("podAffinity", {})
                .setdefault("requiredDuringSchedulingIgnoredDuringExecution", [])
                .append(
                    choose(
                        (
                            {"topologyKey": "", "labelSelector": {}},
                            {**term, "topologyKey": "a b"},
                            {**term, "namespaces": ["A_b"]},
                            {**term, "labelSelector": {"matchLabels": {"a b": "c d"}}},
                            {**term, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
                            {
                                **term,
                                "labelSelector": {
                                    "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]
                                },
                            },
                            {**term, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Maybe"}]}},
                            {**term, "matchLabelKeys": ["app"], "mismatchLabelKeys": ["app"]},
                            {**term, "labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["app"]},
                        )
                    )
                )
            ),
            lambda: spec.setdefault("affinity", {}).update(
                nodeAffinity=choose(
                    (
                        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}},
                        {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]}
                                ]
                            }
                        },
                        {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "a b", "operator": "In", "values": ["x y"]}]}
                                ]
                            }
                        },
                        {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.uid", "operator": "Exists"}]}]
                            }
                        },
                        {
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {"weight": choose((0, 101)), "preference": {}}
                            ]
                        },
                    )
                )
            ),
            lambda: spec.setdefault("nodeSelector", {}).update({"a b": "c d"}),
            lambda: (
                pod["metadata"]
                .setdefault("labels", {})
                .update({choose(("a b", "x/y/z", "ok")): choose(("c d", "x" * 64))})
            ),
            lambda: spec.update(
                schedulingGates=choose(([{"name": ""}], [{"name": "a"}, {"name": "a"}], [{"name": "a b"}]))
            ),
            lambda: spec.update(priorityClassName="Not A Name"),
            lambda: spec.update(
                resources=choose(
                    (
                        {"requests": {EXTENDED: "1"}},
                        {"limits": {"cpu": "1m"}},
                        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                    )
                )
            ),
            lambda: spec.update(activeDeadlineSeconds=choose((0, -1, 2**31))),
            lambda: pod["metadata"].update(name=choose(("Pod", "a_b", "-a", "x" * 254))),
            lambda: spec.setdefault("volumes", []).append(
                choose(
                    (
                        {"name": "a"},
                        {"name": "Bad", "emptyDir": {}},
                        {"name": "v", "persistentVolumeClaim": {"claimName": ""}},
                    )
                )
            ),
            lambda: spec.update(hostname="A.b", subdomain="c_d"),
            lambda: spec.update(nodeName="Not A Node"),
        ]
        choose(wrongs)()
