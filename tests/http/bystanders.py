"""A cluster with everything beside what scheduling reads: as a dump, and served by the fake API server."""

import json
from pathlib import Path
from typing import Any

import yaml

from kwhatif.sources.decoding.kinds import ASKED, BY_KIND
from tests import FIXTURES
from tests.http.fake_api import FakeAPI

Json = dict[str, Any]
DEMO = FIXTURES / "demo"
ADMISSION = "admissionregistration.k8s.io"


def obj(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def event(reason: str, api_version: str, **fields: Any) -> Json:
    """One that the default scheduler wrote a second before the demo was dumped."""
    reporter = "reportingController" if "/" in api_version else "reportingComponent"
    said = {"reason": reason, "eventTime": "2026-11-21T07:19:59.000000Z", reporter: "default-scheduler"}
    return obj(api_version, "Event", f"{reason.lower()}.1", "shop", **said, **fields)


def _pod(name: str) -> Json:
    return {"kind": "Pod", "namespace": "shop", "name": name, "uid": f"p-{name}"}


_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_WEBHOOK = {"name": "hook.example.com", "rules": [_RULE], "clientConfig": {}, "admissionReviewVersions": ["v1"]}
_POLICY = {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": "true"}]}
_BINDING = {"policyName": "policy", "validationActions": ["Deny"]}
_SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
#: One of each, and an Event that says nothing about scheduling.
BYSTANDERS: list[Json] = [
    obj("v1", "ServiceAccount", "default", "shop"),
    obj("v1", "Event", "web.1", "shop", reason="Pulled", lastTimestamp="2026-11-21T07:19:00Z"),
    event("Scheduled", "v1", involvedObject=_pod("mailer")),
    event("Preempted", "events.k8s.io/v1", regarding=_pod("victim"), related=_pod("ledger"), note="Preempted by pod"),
    obj(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "web",
        "shop",
        spec={"scaleTargetRef": _SCALED, "minReplicas": 3, "maxReplicas": 9},
    ),
    obj("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web", "shop", spec={"targetRef": _SCALED}),
    obj(f"{ADMISSION}/v1", "MutatingWebhookConfiguration", "hook", webhooks=[_WEBHOOK]),
    obj(f"{ADMISSION}/v1", "ValidatingWebhookConfiguration", "hook", webhooks=[_WEBHOOK]),
    obj(f"{ADMISSION}/v1", "ValidatingAdmissionPolicy", "policy", spec=_POLICY),
    obj(f"{ADMISSION}/v1", "ValidatingAdmissionPolicyBinding", "policy", spec=_BINDING),
    obj(f"{ADMISSION}/v1beta1", "MutatingAdmissionPolicy", "policy", spec=_POLICY),
    obj(f"{ADMISSION}/v1beta1", "MutatingAdmissionPolicyBinding", "policy", spec=_BINDING),
    obj("karpenter.sh/v1", "NodePool", "general", spec={"template": {"spec": {"requirements": []}}}),
    obj("karpenter.sh/v1", "NodeClaim", "general-1", spec={}),
    obj("karpenter.sh/v1alpha1", "NodeOverlay", "cheaper", spec={}),
    obj("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", "room", "shop", spec={}),
    obj("autoscaling.x-k8s.io/v1alpha1", "CapacityQuota", "most", spec={}),
    obj("autoscaling.x-k8s.io/v1", "ProvisioningRequest", "batch", "shop", spec={}),
    obj("scheduling.k8s.io/v1alpha2", "Workload", "gang", "shop", spec={}),
    obj("scheduling.k8s.io/v1alpha2", "PodGroup", "gang", "shop", spec={}),
    obj("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "gang", "shop", spec={}),
]


def demo() -> list[Json]:
    """The demo with pods that wait, what Events say of them, and the bystanders."""
    objects = [*BYSTANDERS]
    for name in ("cluster", "pending", "events"):
        for document in yaml.load_all((DEMO / f"{name}.yaml").read_bytes(), yaml.CSafeLoader):
            objects += document["items"] if document["kind"] == "List" else [document]
    return objects


def write_dump(objects: list[Json], path: Path) -> Path:
    """As `kubectl get … -o json` writes it."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": objects}))
    return path


def serve_objects(objects: list[Json], api: FakeAPI) -> None:
    """Let the API server hold these and nothing else."""
    objects = [_in_core(each) if each["kind"] == "Event" else each for each in objects]
    plurals = {asked.kind: asked for asked in ASKED}
    for kind in BY_KIND:
        path = BY_KIND[kind].path
        api.pages[path] = {"": _listed(BY_KIND[kind].api_version, kind, objects)}
    for each in objects:
        asked, version = plurals[each["kind"]], each["apiVersion"].rpartition("/")[2]
        api.pages[asked.path(version)] = {"": _listed(each["apiVersion"], each["kind"], objects)}


#: What `v1` calls fields of `events.k8s.io/v1`.
_CORE_NAMES = {"regarding": "involvedObject", "note": "message", "reportingController": "reportingComponent"}


def _in_core(event: Json) -> Json:
    """An Event as `v1` has it: the API server serves each in both versions."""
    return {_CORE_NAMES.get(name, name): value for name, value in event.items()} | {"apiVersion": "v1"}


def _listed(api_version: str, kind: str, objects: list[Json]) -> Json:
    """Entries of a list say neither version nor kind."""
    items = [
        {name: value for name, value in each.items() if name not in ("apiVersion", "kind")}
        for each in objects
        if each["kind"] == kind and each["apiVersion"] == api_version
    ]
    return {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {"resourceVersion": "1"}, "items": items}
