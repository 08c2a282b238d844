"""What a sink may tell Spark: harmless settings of its own, and a profile that the operator of the executors has defined.

Settings of Spark name classes, files and hosts: who may set any of them runs code on the executor's machine. A configuration is
written by whoever may create a connector, so it sets those alone that do nothing of the kind, and names a profile for the others.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from rocketconnect_sdk.configuration.references import REFERENCE, REFERENCE_FIX, wrong_reference
from rocketconnect_sdk.errors import Problem

PROFILES = "ROCKETCONNECT_SPARK_PROFILES"
"""The file of profiles: TOML with a table for each, `[big]`, of settings of Spark and their values."""

PROFILE = "spark.profile"
"""The option that names one."""

_PREFIX = "spark."
_HARMLESS = frozenset(
    _PREFIX + name
    for name in (
        "cores.max",
        "default.parallelism",
        "driver.cores",
        "driver.maxResultSize",
        "driver.memory",
        "driver.memoryOverhead",
        "executor.cores",
        "executor.instances",
        "executor.memory",
        "executor.memoryOverhead",
        "log.level",
        "memory.fraction",
        "memory.storageFraction",
        "network.timeout",
        "rpc.message.maxSize",
        "sql.adaptive.advisoryPartitionSizeInBytes",
        "sql.adaptive.coalescePartitions.enabled",
        "sql.adaptive.enabled",
        "sql.adaptive.skewJoin.enabled",
        "sql.ansi.enabled",
        "sql.autoBroadcastJoinThreshold",
        "sql.avro.compression.codec",
        "sql.caseSensitive",
        "sql.execution.arrow.localRelationThreshold",
        "sql.execution.arrow.maxRecordsPerBatch",
        "sql.files.maxPartitionBytes",
        "sql.files.maxRecordsPerFile",
        "sql.orc.compression.codec",
        "sql.parquet.compression.codec",
        "sql.parquet.datetimeRebaseModeInWrite",
        "sql.parquet.int96RebaseModeInWrite",
        "sql.parquet.outputTimestampType",
        "sql.parquet.writeLegacyFormat",
        "sql.session.timeZone",
        "sql.shuffle.partitions",
        "task.cpus",
        "task.maxFailures",
    )
)
_CREDENTIAL = re.compile(r"spark\.hadoop\.fs\.s3a\.(bucket\.[a-z0-9][a-z0-9.-]*\.)?(access\.key|secret\.key|session\.token)")
"""Who writes a configuration may say who it is. Where it is said to is a matter of the profile."""

_MEMORY = re.compile(r"(\d{1,15})([kmgt]?)b?", re.IGNORECASE)
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+:/-]{0,63}|-1")
_FIX = (
    "Leave it out, or ask the operator of the executors for a profile with it, and name that as spark.profile. A connector itself "
    f"may set {', '.join(sorted(_HARMLESS))}, and fs.s3a's credentials."
)


class ProfilesWrong(ValueError):
    """The file of profiles cannot be read, or is no such file; what it says is for its operator."""


def read_profiles(path: Path) -> dict[str, dict[str, str]]:
    """The profiles of a file: for each name its settings.

    Raises:
        ProfilesWrong: see there; the text names the file, and repeats no value of it.
    """
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise ProfilesWrong(msg) from None
    except ValueError as error:  # of bytes that are no text, or no TOML
        msg = f"{path} is no TOML: {error}"
        raise ProfilesWrong(msg) from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            msg = f"{path}: {name!r} stands outside of a profile; write [NAME], and below it its settings"
            raise ProfilesWrong(msg)
        for key, value in table.items():
            if not key.startswith(_PREFIX) or not isinstance(value, str | int | float):
                msg = f'{path}: {key!r} in [{name}] is no setting of Spark; write "spark.driver.memory" = "8g", the key in quotes'
                raise ProfilesWrong(msg)
    return {name: {key: _text(value) for key, value in table.items()} for name, table in tables.items()}


def problems(raw: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """What a configuration tells Spark and may not, and a profile that there is not."""
    yield from filter(None, (_problem(key, value) for key, value in _own(raw).items()))
    if name := raw.get(PROFILE, "").strip():
        try:
            profiles = _profiles(environment.get(PROFILES, ""))
        except ProfilesWrong as error:
            yield Problem(PROFILE, name, f"cannot be looked up: {error}", "Tell the operator of the executors.")
        else:
            if name not in profiles:
                there = (
                    f"Use one of {', '.join(sorted(profiles))}." if profiles else "Start the executors with --spark-profiles FILE."
                )
                yield Problem(PROFILE, name, "is no Spark profile that the operator of this executor has defined", there)


def is_secret(key: str) -> bool:
    """Whether the value of a key of Spark's is shown nowhere: credentials, and what no connector may set, which may be anything."""
    return key.startswith(_PREFIX) and key != PROFILE and key not in _HARMLESS


def settings(raw: Mapping[str, str], file: str) -> dict[str, str]:
    """What Spark is told for a configuration: its profile's settings, and its own, which win. What `problems` refuses is not in it.

    Args:
        raw: The configuration.
        file: The path of the profiles; empty: there are none.
    """
    profile: Mapping[str, str] = {}
    if name := raw.get(PROFILE, "").strip():
        with suppress(ProfilesWrong):  # `problems` tells of it, before the task moves anything
            profile = _profiles(file).get(name, {})
    return {**profile, **{key: value for key, value in _own(raw).items() if _problem(key, value) is None}}


def memory_size(text: str) -> int:
    """The bytes of a size as Spark has it, 8g or 512m; a bare number is of MiB.

    Raises:
        ValueError: it is none.
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        msg = "is no size of memory such as 8g or 512m"
        raise ValueError(msg)
    size: int = int(match[1]) * 1024 ** ("kmgt".index((match[2] or "m").lower()) + 1)
    return size


def _own(raw: Mapping[str, str]) -> dict[str, str]:
    """What a configuration itself tells Spark."""
    return {key: value for key, value in raw.items() if key.startswith(_PREFIX) and key != PROFILE}


def _problem(key: str, value: str) -> Problem | None:
    """Why a connector may not tell Spark this; None: it may."""
    if _CREDENTIAL.fullmatch(key):
        reason = wrong_reference(value)
        return Problem(key, value if REFERENCE.fullmatch(value) else "", reason, REFERENCE_FIX) if reason else None
    if key not in _HARMLESS:
        return Problem(key, "", "is not for a connector to set: settings of Spark can run code and reach any host", _FIX)
    if not _VALUE.fullmatch(value):
        return Problem(key, value[:100], "is no number, size, duration or name", "Write a value such as 8, 4g, 30s or zstd.")
    return None


def _profiles(file: str) -> dict[str, dict[str, str]]:
    return read_profiles(Path(file)) if file else {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
