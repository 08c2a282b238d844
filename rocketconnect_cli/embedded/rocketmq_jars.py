"""The jars of RocketMQ itself."""

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from rocketconnect_kit.java.jars import JarSet, OnProgress, jars_of

ROCKETMQ_VERSION = "5.5.0"
JARS_VARIABLE = "ROCKETCONNECT_ROCKETMQ_JARS"

ROCKETMQ = JarSet(
    f"RocketMQ {ROCKETMQ_VERSION}",
    files(__package__) / f"rocketmq-{ROCKETMQ_VERSION}.jars",
    "90 MB",
    JARS_VARIABLE,
    ("rocketmq-namesrv-*.jar", "rocketmq-broker-*.jar"),
)


def rocketmq_jars(on_progress: OnProgress = lambda _done, _total: None, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with RocketMQ's jars, as jars_of() does."""
    return jars_of(ROCKETMQ, on_progress, environment)
