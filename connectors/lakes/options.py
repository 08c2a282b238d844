"""The options that sinks of lakes share, and what can be wrong with them."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from rocketconnect_sdk.columns.declared import columns_option, parse_columns
from rocketconnect_sdk.configuration.change_options import DELETE_ENABLED, PK_MODE, RECORD_KEY, TRUNCATE_ENABLED
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.files.checks import place_problems
from rocketconnect_sdk.options import Config, Kind, Option

TOPIC = "${topic}"
"""Stands for the topic in the name of a table."""
FOR_EACH = f"With {TOPIC} each topic has a table, with the same options."
INSERT = "insert"

COLUMNS = columns_option(
    "Makes rows of JSON objects that have no schema; fields that are no columns are left out, and an object that has "
    "none of the columns is a bad record. "
    "Values with a schema need no columns.",
    example="id:int64,name",
)
CHANGES = (
    Option(
        "insert.mode",
        "insert: each record is a new row. upsert: it replaces the row of its key, or is a new one; change envelopes do what "
        "they say.",
        default=INSERT,
        choices=(INSERT, "upsert"),
    ),
    PK_MODE,
    Option(
        "pk.fields",
        "The columns of the key, with upsert. No two rows of the table have the same. Empty, with pk.mode=record_key: those that "
        "the keys of the records have.",
        Kind.LIST,
        "",
    ),
    DELETE_ENABLED,
    TRUNCATE_ENABLED,
)
FLUSH = (FLUSH_ROWS, FLUSH_BYTES, flush_interval("10s", "Each is a commit of the table, with a file at least."))


def evolution(note: str) -> Option:
    """schema.evolution.

    Args:
        note: What evolve does to such a table.
    """
    return replace(POLICY, doc=f"{POLICY.doc} Default: evolve: {note}. Not with columns, which are all there are.")


def policy_of(config: Config) -> Policy:
    """What the option evolution() says."""
    return Policy(config[POLICY.key] or Policy.EVOLVE)


def evolution_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with schema.evolution."""
    if config["columns"]:
        return policy_problems(config, (), "the option columns says all columns that there are")
    return policy_problems(config, tuple(Policy), "")


def place_of_table_problems(given: str, kind: str, is_table: Callable[[Path], bool], hidden: str) -> Iterable[Problem]:
    """What is wrong with the option path as the directory of a table.

    Args:
        given: What it says.
        kind: What such a table is, for people.
        is_table: Whether a directory is that of one.
        hidden: What may be in a directory before the table is.
    """
    if "://" in given:
        reason = "is an address, and only tables in directories of this machine can be written"
        yield Problem("path", given, reason, "Give an absolute path.")
        return
    wrong = [replace(problem, key="path") for problem in place_problems(given)]
    yield from wrong
    path = Path(given)
    if wrong or not path.exists():
        return
    if not path.is_dir():
        yield Problem("path", given, "is a file", "Name a directory or a new name.")
    elif not os.access(path, os.R_OK | os.X_OK):
        yield Problem("path", given, "cannot be read", "Give the worker's user the right.")
    elif not is_table(path) and any(entry.name != hidden for entry in path.iterdir()):
        fix = f"Name an empty directory, a new name, or the directory of a {kind}."
        yield Problem("path", given, f"is a directory that has files in it and is no {kind}", fix)


def partition_problems(config: Config, columns: Iterable[str]) -> Iterable[Problem]:
    """What is wrong with the columns by which a table is partitioned."""
    if not config["columns"]:
        return
    names = [field.name for field in parse_columns(config["columns"]).fields]
    for name in (name for name in columns if name not in names):
        fix = f"Name some of {', '.join(names)}, or add it to columns."
        yield Problem("partition.by", name, "is none of the columns", fix)


def mode_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the options of CHANGES."""
    key = config["pk.fields"]
    if config["insert.mode"] == INSERT:
        given = {
            "pk.fields": ",".join(key),
            "delete.enabled": config["delete.enabled"],
            "truncate.enabled": config["truncate.enabled"],
        }
        for name in (name for name, value in given.items() if value):
            fix = "Set insert.mode=upsert, or remove it."
            yield Problem(name, config.raw[name], "means nothing where each record is a new row", fix)
        return
    if not key and config["pk.mode"] != RECORD_KEY:
        fix = "Name the columns of the key, or set pk.mode=record_key, where the records have it as theirs."
        yield Problem("pk.fields", "", "is missing, and insert.mode=upsert needs the key of each row", fix)
    for name in dict.fromkeys(name for name in key if key.count(name) > 1):
        yield Problem("pk.fields", name, "is there more than once", "Name each column once.")
    if config["columns"]:
        names = [field.name for field in parse_columns(config["columns"]).fields]
        for name in (name for name in dict.fromkeys(key) if name not in names):
            fix = f"Name some of {', '.join(names)}, or add it to columns."
            yield Problem("pk.fields", name, "is none of the columns", fix)
