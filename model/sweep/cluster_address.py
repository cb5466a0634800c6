"""Reads where a Ray cluster is, and what a worker on it needs: `HEAD:6379,gpus=1,memory=24`."""

from __future__ import annotations

import socket
from typing import NamedTuple

from parley.llm.errors import UserError, unknown_name
from parley.model.files import file_errors

WAIT = 5.0
"""Seconds in which an address must answer."""
NEEDS = ("gpus", "memory")


class Cluster(NamedTuple):
    """A cluster, and what each worker gets on it.

    gpus: number of GPUs, such as 1, .5 for two workers on one, 0; None: 1 for a model that runs in the worker where the cluster
    has GPUs. memory: GB of memory that must be free on a machine; 0: any.
    """

    address: str
    gpus: float | None = None
    memory: float = 0.0


def read_cluster(text: str) -> Cluster:
    """Return the cluster of `--cluster`. Errors: UserError for what is no address, or an unknown need.

    >>> read_cluster("local"), read_cluster("HEAD:6379,gpus=.5,memory=24")
    (Cluster(address='local', gpus=None, memory=0.0), Cluster(address='HEAD:6379', gpus=0.5, memory=24.0))
    """
    address, *needs = text.split(",")
    numbers: dict[str, float] = {}
    for need in needs:
        name, _, number = need.partition("=")
        if name not in NEEDS:
            raise unknown_name("need of a worker in --cluster", name, NEEDS)
        if not number.replace(".", "", 1).isdecimal():
            raise UserError(f"--cluster {need}: write a number of 0 or more, such as {name}=1")
        numbers[name] = float(number)
    if address not in ("local", "auto"):
        host, colon, port = address.removeprefix("ray://").rpartition(":")
        if not (host and colon and port.isdecimal() and int(port) < 2**16):
            raise UserError(f"--cluster {address}: write local, auto, HOST:PORT or ray://HOST:PORT")
    return Cluster(address, **numbers)


def check_cluster(text: str) -> None:
    """Errors: as `read_cluster`, and UserError where nothing listens: Ray itself would wait for minutes."""
    address = read_cluster(text).address
    if address not in ("local", "auto"):
        host, _, port = address.removeprefix("ray://").rpartition(":")
        with file_errors(f"no Ray cluster at {address}"):
            socket.create_connection((host, int(port)), WAIT).close()
