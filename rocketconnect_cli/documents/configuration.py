"""Reads a connector configuration from a file or from key=value pairs, and changes keys of a stored one."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocketconnect_cli.api import ApiError, Exit

_CLASSES, _ORIGINAL = ("connector.class", "connector-class"), "org.apache.rocketmq.connect."
"""Connectors of RocketMQ Connect have options that are objects: they are taken as their JSON, as its REST API takes them."""


def read(file: Path | None, pairs: Sequence[str]) -> dict[str, str]:
    """The configuration: of the file, with the pairs on top.

    Args:
        file: A JSON object (flat, or a connector with its "config" as `get -o json` prints it) or .properties; "-" is standard
            input.
        pairs: KEY=VALUE each.

    Raises:
        ApiError: WRONG, with every problem at once.
    """
    problems: list[dict[str, str]] = []
    config = {**(_parse(file, problems) if file else {}), **_parse_pairs(pairs, problems)}
    if not file and not pairs:
        problems.append({"key": "", "reason": "no configuration was given", "fix": "Give -f FILE or --set KEY=VALUE."})
    return _checked(config, problems)


def changed(stored: Mapping[str, str], pairs: Sequence[str], unset: Sequence[str]) -> dict[str, str]:
    """The stored configuration with the pairs in it and without the keys of `unset`; an empty value is a value.

    Raises:
        ApiError: WRONG, with every problem at once.
    """
    problems: list[dict[str, str]] = []
    given = _parse_pairs(pairs, problems)
    config = {**stored, **given}
    for key in unset:
        if key in given:
            problems.append({"key": key, "reason": "is set and unset at once", "fix": "Give one of --set and --unset."})
        elif key not in config:
            fix = "`rocketconnect connector get NAME` shows those there are."
            problems.append({"key": key, "reason": "is not in the configuration", "fix": fix})
        config.pop(key, None)
    return _checked(config, problems)


def _parse_pairs(pairs: Sequence[str], problems: list[dict[str, str]]) -> dict[str, str]:
    config: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            problems.append({"key": pair, "reason": "is not of the form KEY=VALUE", "fix": "Write --set max.tasks=2."})
        elif key.strip() in config:
            # Not with the values: one may be a secret.
            problems.append(
                {"key": key.strip(), "reason": "is set twice", "fix": "Give each key once: one of the values would be lost."}
            )
        config[key.strip()] = value
    return config


def _checked(config: dict[str, str], problems: list[dict[str, str]]) -> dict[str, str]:
    problems += [_not_text(key) for key, value in config.items() if not is_text(key) or not is_text(value)]
    if problems:
        raise ApiError(Exit.WRONG, {"detail": "the configuration can't be read", "problems": problems})
    return config


def is_text(word: str) -> bool:
    """Whether a text can be sent: what is no UTF-8 on the command line or in JSON can't."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_text(key: str) -> dict[str, str]:
    shown = key.encode(errors="backslashreplace").decode()
    return {"key": shown, "reason": "is not valid UTF-8", "fix": "Give the key and the value in UTF-8."}


def _parse(file: Path, problems: list[dict[str, str]]) -> dict[str, str]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problems.append({"key": str(file), "reason": f"can't be read: {error}", "fix": "Give a readable UTF-8 file."})
        return {}
    if text.lstrip().startswith("{"):
        return _parse_json(file, text, problems)
    return parse_properties(file, text, problems)


def _parse_json(file: Path, text: str, problems: list[dict[str, str]]) -> dict[str, str]:
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        problems.append(
            {"key": str(file), "reason": f"is not valid JSON: {error}", "fix": 'Give an object: {"connector.class": "..."}.'}
        )
        return {}
    if isinstance(document.get("config"), dict):
        # A connector as `get -o json` prints it: the rest of it is not the user's to set.
        document = document["config"]
    config: dict[str, str] = {}
    for key, value in document.items():
        if isinstance(value, bool):
            config[key] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            config[key] = str(value)
        elif isinstance(value, dict) and any(str(document.get(each, "")).startswith(_ORIGINAL) for each in _CLASSES):
            config[key] = json.dumps(value, ensure_ascii=False)
        else:
            problems.append(
                {"key": key, "reason": "is neither a text nor a number", "fix": "Values are texts, numbers, true or false."}
            )
    return config


def parse_properties(file: Path, text: str, problems: list[dict[str, str]]) -> dict[str, str]:
    """The configuration in a .properties file; what is wrong is added to the problems."""
    config: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        key, separator, value = stripped.partition("=")
        if not separator:
            fix = "Write one KEY=VALUE a line, or a JSON object."
            problems.append({"key": f"{file}:{number}", "value": stripped[:80], "reason": "has no =", "fix": fix})
        config[key.strip()] = value.strip()
    return config
