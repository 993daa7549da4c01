"""Custom kinds of well-known projects of which no controller makes pods: like a ConfigMap, they say nothing here.

A kind belongs here only if its own controller never makes a pod, nor anything that does, and if it does not change
pods, requests or replicas of others. `Gateway`, `Certificate` (solvers of ACME) and `ScaledObject` do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.sources.decoding.kinds import group_of

#: Group -> kinds; no kinds: all of the group.
_PODLESS: Mapping[str, frozenset[str]] = {
    group: frozenset(kinds.split())
    for group, kinds in {
        "bitnami.com": "SealedSecret",
        "cert-manager.io": "Issuer ClusterIssuer",
        "config.openshift.io": "",
        "console.openshift.io": "",
        "crd.projectcalico.org": "",
        "externaldns.k8s.io": "",
        "external-secrets.io": "",
        "gateway.networking.k8s.io": (
            "BackendTLSPolicy GatewayClass GRPCRoute HTTPRoute ReferenceGrant TCPRoute TLSRoute UDPRoute"
        ),
        "grafana.integreatly.org": (
            "GrafanaAlertRuleGroup GrafanaContactPoint GrafanaDashboard GrafanaDatasource GrafanaFolder"
        ),
        "groupsnapshot.storage.k8s.io": "",
        "image.openshift.io": "",
        "k8s.cni.cncf.io": "NetworkAttachmentDefinition",
        "metallb.io": "",
        "monitoring.coreos.com": "AlertmanagerConfig PodMonitor Probe PrometheusRule ScrapeConfig ServiceMonitor",
        "networking.istio.io": (
            "DestinationRule EnvoyFilter Gateway ProxyConfig ServiceEntry Sidecar VirtualService WorkloadEntry"
            " WorkloadGroup"
        ),
        "projectcalico.org": "",
        "route.openshift.io": "",
        "secrets-store.csi.x-k8s.io": "",
        "security.istio.io": "",
        "snapshot.storage.k8s.io": "",
        "telemetry.istio.io": "",
        "traefik.containo.us": "",
        "traefik.io": "",
    }.items()
}


def makes_no_pods(api_version: str, kind: str) -> bool:
    """Whether it is known of this kind that no controller makes pods of it."""
    kinds = _PODLESS.get(group_of(api_version))
    return kinds is not None and (not kinds or kind in kinds)
