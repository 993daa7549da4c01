"""What is used of the official client: configuration, authentication, TLS; without what its packages import besides.

The `__init__` of `kubernetes`, `kubernetes.client` and the OAuth libraries import hundreds of modules (models,
pydantic, requests) that took a quarter of the time a live cluster of 10,000 pods takes, and that few kubeconfigs need.
So these packages run only when something is asked of them that is not there yet, be it by the client (for OIDC), or by
other code of this process, for which they are as they always are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

#: Parents before children.
_PACKAGES = ("kubernetes", "kubernetes.client", "kubernetes.utils", "oauthlib.oauth2", "requests_oauthlib")
#: What `kubernetes.config` imports of them by name, and calls for OIDC only.
_NAMES = {"kubernetes.client": "ApiClient", "requests_oauthlib": "OAuth2Session"}
_RUNNING = RLock()


class _OnDemand(ModuleType):
    """A package that has not run yet."""

    def __getattr__(self, name: str) -> object:
        with _RUNNING:
            if self.__dict__.pop("_waiting", False):
                self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)


@contextmanager
def _put_off() -> Iterator[None]:
    """Packages that are imported meanwhile do not run; stand-ins are in the place of what is imported from them."""
    waiting = [package for package in _PACKAGES if package not in sys.modules and _wait(package)]
    stand_ins = {package: name for package, name in _NAMES.items() if package in waiting}
    for package, name in stand_ins.items():
        setattr(sys.modules[package], name, _called_later(package, name))
    yield
    for package, name in stand_ins.items():
        delattr(sys.modules[package], name)


def _wait(package: str) -> bool:
    spec = find_spec(package)
    if spec is None or spec.loader is None:
        return False  # another version of the client, which needs other libraries
    module = sys.modules[package] = module_from_spec(spec)
    module.__dict__["_waiting"] = True
    module.__class__ = _OnDemand
    parent, _, name = package.rpartition(".")
    if parent:
        setattr(sys.modules[parent], name, module)
    return True


def _called_later(package: str, name: str) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        return getattr(import_module(package), name)(*args, **named)

    return call


with _put_off():
    from kubernetes import client
    from kubernetes.client.configuration import Configuration

    client.Configuration = Configuration  # type: ignore[misc] # from where `kubernetes.config` imports it

    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.incluster_config import load_incluster_config
    from kubernetes.config.kube_config import load_kube_config

__all__ = ["ConfigException", "Configuration", "RESTClientObject", "load_incluster_config", "load_kube_config"]
