"""KubeSchedulerConfiguration: read, validated as kube-scheduler validates it, and turned into profiles."""

from kwhatif.scheduler.configuration.build import build_profiles
from kwhatif.scheduler.configuration.schema import KubeSchedulerConfiguration

__all__ = ["KubeSchedulerConfiguration", "build_profiles"]
