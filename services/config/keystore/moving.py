"""Puts references in the place of secrets that a configuration has as values. Pure."""

import re
from collections.abc import Iterable, Mapping

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_kit.sealing import Keys

MAXIMUM_VALUE_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,255}", re.ASCII)
_OTHER = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)
_KEY_LENGTH = 100


def moved(
    connector: str, config: Mapping[str, str], secret_keys: Iterable[str], keys: Keys
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the configuration with references, and what they stand for, by name.

    What has a `${` in it was meant for a reference: it stays, for people to be told what is wrong with it. The same value of the
    same option gets the same name, so that a configuration that is given again is the same; another value gets another name, so
    that the earlier revisions keep theirs.
    """
    values: dict[str, str] = {}
    changed = dict(config)
    for key in secret_keys:
        value = config.get(key, "")
        if not value or "${" in value or value_problems(value):
            continue
        name = f"{connector}.{_OTHER.sub('_', key)[:_KEY_LENGTH]}.{keys.mark(connector, key, value)}"
        values[name] = value
        changed[key] = f"${{keystore:{name}}}"
    return changed, values


def secret_name_problems(name: str) -> list[FieldProblem]:
    """Return what is wrong with the name of a secret."""
    if _NAME.fullmatch(name):
        return []
    fix = 'use 1 to 256 letters, digits, ".", "_" and "-", beginning with a letter or a digit'
    return [FieldProblem("name", name[:256], "is no name of a secret", fix)]


def value_problems(value: str) -> list[FieldProblem]:
    """Return what is wrong with a secret. Never repeats it."""
    if not value:
        return [FieldProblem("value", "", "is empty", "give the secret")]
    if len(value.encode()) > MAXIMUM_VALUE_BYTES:
        return [FieldProblem("value", "", "is too long", f"give at most {MAXIMUM_VALUE_BYTES:,} bytes")]
    return []
