"""The Spark session of a profile."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.app.name": "rocketconnect",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Sinks commit on the driver, and files are read as they were staged: adaptive re-planning only costs time in small batches.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.parquet.compression.codec": "zstd",
    # A host that dies has nothing to clean up behind it, and waits for nothing.
    "spark.shutdown.timeout": "5s",
    "spark.cleaner.referenceTracking.blocking": "false",
}
_LOCAL_ONLY = ("spark.driver.host", "spark.driver.bindAddress")
_FIXED = {
    # One pool for each task, so that a large batch of one does not hold up the small ones of others.
    "spark.scheduler.mode": "FAIR",
    # A batch is staged once: a second attempt beside the first one would stage it twice.
    "spark.speculation": "false",
}


def make_session(profile: Mapping[str, str]) -> SparkSession:
    """The session of a profile; takes seconds. One for a process; its Java process ends with this one.

    Args:
        profile: spark.* keys, references resolved. They win over the defaults, but for the scheduler and speculation.
    """
    # Spark's Java process reads these when it is started, and so do its Python workers.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    scratch = tempfile.mkdtemp(prefix="rocketconnect-spark-")
    settings = {
        **_DEFAULTS,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.local.dir": f"{scratch}/local",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}/derby -Djava.io.tmpdir={scratch}",
        **profile,
        **_FIXED,
    }
    if not settings["spark.master"].startswith("local"):
        for key in _LOCAL_ONLY:
            if key not in profile:
                del settings[key]
    os.makedirs(f"{scratch}/local", exist_ok=True)  # noqa: PTH103
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    weakref.finalize(session, shutil.rmtree, scratch, ignore_errors=True)
    return session
