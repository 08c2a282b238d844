"""What of the executor's environment its host processes get: what programs need to run, and what connectors may ask for.

Host processes run plugins, and resolve the references that configurations hold. Whoever may create a connector could otherwise read
all that the executor was started with.
"""

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS, READER_HOSTS
from rocketconnect_sdk.permissions.names import is_named
from rocketconnect_sdk.permissions.roots import READ_ROOTS, WRITE_ROOTS

VARIABLES = "ROCKETCONNECT_SECRET_VARIABLES"
"""Names of variables that `${env:NAME}` may stand for, separated by commas; `*` stands for any characters."""

FOLDERS = "ROCKETCONNECT_SECRET_FOLDERS"
"""Folders whose files `${file:PATH:KEY}` may stand for, separated by colons."""

RELOAD_SECONDS = "ROCKETCONNECT_SECRET_RELOAD_SECONDS"
"""How often it is looked whether a secret that a task has begun with is another one now; 0: never."""

USUAL_RELOAD_SECONDS = 60.0

_OWN = "ROCKETCONNECT_"
_NEEDED = (
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "LC_*",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "VIRTUAL_ENV",
    "XDG_*",
    "GRPC_*",
    "HADOOP_*",
    "MALLOC_*",
    "PYTHON*",
    "SPARK_*",
)
"""What Python, Java, Spark and clients of HTTP look at."""


def of_hosts(environment: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    """The environment of host processes.

    Args:
        environment: The executor's own.
        told: What the executor was told of what connectors may do, under the names that hosts know it by; VARIABLES is one.
    """
    kept = {name: value for name, value in environment.items() if may_be_named(name, told[VARIABLES]) or _is_needed(name)}
    return kept | dict(told)


def of_readers(environment: Mapping[str, str], hosts: str) -> dict[str, str]:
    """The environment of a host process that answers somebody who may only read: without any secret, and no way to one.

    Args:
        environment: That of a host process.
        hosts: To which it may speak; see permissions.hosts.
    """
    kept = {name: value for name, value in environment.items() if _is_needed(name)}
    return kept | {VARIABLES: "", FOLDERS: "", READ_ROOTS: "", WRITE_ROOTS: "", CONNECTOR_HOSTS: hosts, READER_HOSTS: hosts}


def may_be_named(name: str, variables: str) -> bool:
    """Whether connectors may ask for this variable. Never for what the services of this product are told."""
    return not name.startswith(_OWN) and is_named(name, variables)


def _is_needed(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _NEEDED)


def folders(text: str) -> list[Path]:
    """The folders that a text names.

    Raises:
        ValueError: one of them is no absolute path.
    """
    found = [Path(part.strip()) for part in text.split(os.pathsep) if part.strip()]
    for folder in found:
        if not folder.is_absolute():
            msg = f"{folder} is no absolute path"
            raise ValueError(msg)
    return found
