"""Texts that say nothing of a cluster, and so are kept: Kubernetes' own words, and those of the clouds and vendors.

Whatever is not here is renamed, in whatever field it stands: a field that is added to the model needs no entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kwhatif.kube.matching.nodes import ANY_IP
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.scheduler.plugins.node_declared_features import RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK
from kwhatif.sources.decoding.workload_kinds import GROUPS as CUSTOM_GROUPS
from kwhatif.sources.decoding.workload_kinds import built_in

KUBERNETES: Final = "Kubernetes' own"
PUBLIC: Final = "public name"
TIME: Final = "time, compared"
NUMBER: Final = "number, compared"
AMOUNT: Final = "amount"
GENERATED: Final = "in place of a selector"
VERSION: Final = "release"

#: Sections whose texts sort among names.
NAMES: Final = frozenset({KUBERNETES, PUBLIC, NUMBER})


def _read() -> Iterator[tuple[str, str]]:
    """The texts of words.txt, each with the section that it stands in."""
    section = ""
    for line in (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield line, section


_READ = list(_read())


def _section(kind: str) -> dict[str, str]:
    """The texts of one sort, Kubernetes' own and public ones, each with the reason."""
    reasons = {"Kubernetes": KUBERNETES, "public": PUBLIC}
    return {text: reasons[whose] for text, section in _READ for whose, _, of in [section.partition(": ")] if of == kind}


_KEYS: Mapping[str, str] = _section("keys")
_VALUES: Mapping[str, str] = {
    **{key.partition("/")[0]: why for key, why in _KEYS.items() if "." in key.partition("/")[0] and "/" in key},
    **dict.fromkeys(("kubernetes.io", "deviceclass.resource.kubernetes.io", ANY_IP), KUBERNETES),
    **dict.fromkeys((RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK), KUBERNETES),
    **_section("values"),
}
_KINDS = frozenset(
    {
        *(resource.kind for resource in RESOURCES.values()),
        *(
            "HorizontalPodAutoscaler",
            "VerticalPodAutoscaler",
            "ServiceAccount",
            "NodePool",
            "NodeClaim",
            "DeviceTaintRule",
        ),
        *("EC2NodeClass", "AKSNodeClass", "GCENodeClass", "KWOKNodeClass"),
        *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
        *("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"),
        *(entry.kind for entry in built_in()),
    }
)
_GROUPS = frozenset(
    {
        *(resource.group for resource in RESOURCES.values()),
        *CUSTOM_GROUPS,
        *(
            "autoscaling",
            "autoscaling.k8s.io",
            "admissionregistration.k8s.io",
            "metrics.k8s.io",
            "karpenter.sh",
            "karpenter.k8s.aws",
            "karpenter.azure.com",
        ),
    }
)
_PLURALS = frozenset(resource.plural for resource in RESOURCES.values())
#: Words that are kept in one field only, since elsewhere they may be names: nothing compares the two.
_OF_FIELD: Mapping[str, frozenset[str]] = {
    "kind": _KINDS,
    "group": _GROUPS,
    "api_groups": _GROUPS,
    "resource": _PLURALS,
    "resources": _PLURALS,
    "config_source": frozenset({"file", "api", "http"}),
    "pool": frozenset({"rbd"}),  # Ceph's default: the same as naming none
}
#: Fields that hold keys.
_KEY_FIELDS = frozenset(
    {
        *("key", "topology_key", "match_label_keys", "mismatch_label_keys", "resource_name"),
        *("extended_resource_name", "match_attribute", "distinct_attribute"),
    }
)
#: Names of resources that the API server takes for Kubernetes' own, whatever stands before.
NATIVE_DOMAIN = ".kubernetes.io"
_API_VERSION = re.compile(r"v[0-9]+(?:(?:alpha|beta)[0-9]+)?")
_HUGE_PAGES = re.compile(r"(?:requests\.)?hugepages-[0-9]+(?:[KMGTPE]i?)?")
#: Larger ones may identify an account or a customer.
_SMALL_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}")
_NUMBER = re.compile(r"[+-]?[0-9]+")
_MEASURE = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:%|ms|s|m|h)?")
_INDEXES = re.compile("[0-9,-]+")
_CRON_FIELD = re.compile("[0-9*/?]+")
_CRON_WORDS = frozenset(
    {
        *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        *("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
        *("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"),
    }
)
_RELEASE = re.compile(r"v?[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?")
#: Levels of Pod Security: words of everybody, but a rule where they stand below one of its labels.
POD_SECURITY: Final = "pod-security.kubernetes.io/"
_LEVELS = frozenset({"privileged", "baseline", "restricted", "latest"})


def why_kept(text: str) -> str:
    """Why a text is kept wherever it stands; "": it is not."""
    if text in _VALUES:
        return _VALUES[text]
    if _SMALL_NUMBER.fullmatch(text):
        return NUMBER
    return TIME if is_time(text) else ""


def why_kept_in(field: str, text: str, *, is_key: bool = False) -> str:
    """Why a text is kept in a field, or as a key of a map in it, though not everywhere; "": it is not."""
    if is_key or field in _KEY_FIELDS:
        return KUBERNETES if _HUGE_PAGES.fullmatch(text) else _KEYS.get(text, "")
    return KUBERNETES if text in _OF_FIELD.get(field, ()) else ""


def is_api_group(text: str) -> bool:
    """Whether it is a group of Kubernetes, or of something that is as public."""
    return text in _GROUPS


def is_api_version(text: str) -> bool:
    """Whether it is a version of an API, without its group."""
    return _API_VERSION.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Whether it is an RFC 3339 time."""
    if not text[:4].isdigit():
        return False
    try:
        parse_time(text)
    except (ValueError, OverflowError):
        return False
    return True


def is_number(text: str) -> bool:
    """Whether it is a number that `Gt` and `Lt` compare."""
    return _NUMBER.fullmatch(text) is not None


def is_measure(text: str) -> bool:
    """Whether it is a number, a percentage or a duration."""
    return _MEASURE.fullmatch(text) is not None


def is_list_of_indexes(text: str) -> bool:
    """Whether it is a list of numbers, such as `0-2,5`."""
    return _INDEXES.fullmatch(text) is not None


def is_quantity(text: str) -> bool:
    """Whether it is an amount of a resource, as Kubernetes writes it."""
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def is_schedule(text: str) -> bool:
    """Whether it says when a CronJob is due."""
    fields = text.lower().replace(",", " ").replace("-", " ").split()
    return bool(fields) and all(_CRON_FIELD.fullmatch(field) or field in _CRON_WORDS for field in fields)


def is_time_zone(text: str) -> bool:
    """Whether it is a zone of the time zone database."""
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def release_of(text: str) -> str:
    """The version of Kubernetes at the start of a text, without what a vendor adds; "" where there is none."""
    found = _RELEASE.match(text)
    return found[0] if found else ""


def is_level(text: str) -> bool:
    """Whether it is a level of Pod Security, or the version of one."""
    return text in _LEVELS or _RELEASE.fullmatch(text) is not None
