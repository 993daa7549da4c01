"""All controllers, in the order in which they react at one moment."""

from __future__ import annotations

from kwhatif.controllers import daemon_set, deployment, replica_set, stateful_set
from kwhatif.controllers.contract import Controller

CONTROLLERS: tuple[Controller, ...] = (
    *deployment.CONTROLLERS,
    *replica_set.CONTROLLERS,
    *stateful_set.CONTROLLERS,
    *daemon_set.CONTROLLERS,
)
