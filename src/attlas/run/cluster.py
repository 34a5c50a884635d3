"""Ray itself: imported quietly, and connected to a cluster that runs or to one that is started here.

An address at which nobody answers, or somebody else, is refused within seconds, where Ray would go on asking for
minutes.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from attlas.errors import PlanError, first_line

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
AWAKE = {"RAY_worker_niceness": "0"}  # workers of a cluster that is started here do not stand back behind others
ANSWERS = 30.0  # seconds in which a cluster has to answer; on a busy machine the asking alone takes half of them


def import_ray() -> Any:
    """Ray, told to keep quiet; refused in one sentence where it is not installed.

    >>> import_ray().__name__
    'ray'
    """
    for name, value in {**QUIET, **AWAKE}.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise PlanError("--engine ray needs the package ray; install it with pip install 'attlas[ray]'") from None
    return ray


def connect(address: str, cpus: int | None) -> bool:
    """Connect to a cluster, or start one of so many CPUs; says whether it is up to us to end it. A connection that
    this process has already is used."""
    ray = import_ray()
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in ("", "auto") and _resolved(address) != _resolved(here):
            raise PlanError(f"this process is connected to the Ray cluster at {here} already, not to {address}")
        return False
    if address not in ("", "auto"):
        require_cluster(address)
    how: dict[str, Any] = {"address": address}
    if not address:
        how = {"address": "local", "num_cpus": cpus or _cores(), "include_dashboard": False}
    with _own_signals():
        try:
            ray.init(**how, log_to_driver=False, logging_level=logging.ERROR)
        except ConnectionError as error:
            if address == "auto":
                raise PlanError(
                    "this machine belongs to no Ray cluster; give the address of one, as ray://HOST:6379, or "
                    "--engine ray, which starts one"
                ) from None
            raise PlanError(f"there is no Ray cluster at {address} ({first_line(error)})") from None
        except Exception as error:  # a node that is not up in time is a plain one
            ray.shutdown()
            raise PlanError(
                f"Ray did not start ({first_line(error)}); if this machine is busy, try again later"
            ) from None
    return True


def require_cluster(address: str) -> None:
    """Refuse an address that nobody, or somebody else, answers at.

    >>> require_cluster("localhost")
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: there is no Ray cluster at localhost: give the address and port of its head node, ...
    """
    host, _, port = address.rpartition(":")
    none = f"there is no Ray cluster at {address}"
    told = "give the address and port of its head node, as ray://HOST:6379, or ray://auto on a machine of it"
    if not host or not port.isdecimal() or int(port) > 65535:
        raise PlanError(f"{none}: {told}")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise PlanError(f"{none} ({error.strerror or error}); {told}") from None
    asking = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        answered = subprocess.run(asking, capture_output=True, timeout=ANSWERS, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        raise PlanError(f"{none}: within {ANSWERS:.0f} seconds nothing answered there as one does; {told}") from None
    if not answered:
        raise PlanError(f"{none}: what answers there is none, or one of another version of Ray; {told}")


def _resolved(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    with suppress(OSError):
        host = socket.gethostbyname(host)
    own = import_ray().util.get_node_ip_address()
    return (own if host == "127.0.0.1" else host), port


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the answers to signals as they were, which Ray would change."""
    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if here else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
