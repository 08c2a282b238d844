"""Reads a connector configuration from a file or from key=value pairs."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rocketconnect_cli.api import ApiError, Exit


def read(file: Path | None, pairs: Sequence[str]) -> dict[str, str]:
    """The configuration: of the file (JSON object or .properties; "-" is standard input), with the pairs on top.

    Raises:
        ApiError: WRONG, with every problem at once.
    """
    problems: list[dict[str, str]] = []
    config = _parse(file, problems) if file else {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            problems.append({"key": pair, "reason": "is not of the form KEY=VALUE", "fix": "Write --set max.tasks=2."})
        config[key.strip()] = value
    problems += [_not_text(key) for key, value in config.items() if not _is_text(key) or not _is_text(value)]
    if not file and not pairs:
        problems.append({"key": "", "reason": "no configuration was given", "fix": "Give -f FILE or --set KEY=VALUE."})
    if problems:
        raise ApiError(Exit.WRONG, {"detail": "the configuration can't be read", "problems": problems})
    return config


def _is_text(word: str) -> bool:
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
    return _parse_properties(file, text, problems)


def _parse_json(file: Path, text: str, problems: list[dict[str, str]]) -> dict[str, str]:
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        problems.append(
            {"key": str(file), "reason": f"is not valid JSON: {error}", "fix": 'Give an object: {"connector.class": "..."}.'}
        )
        return {}
    config: dict[str, str] = {}
    for key, value in document.items():
        if isinstance(value, bool):
            config[key] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            config[key] = str(value)
        else:
            problems.append(
                {"key": key, "reason": "is neither a text nor a number", "fix": "Values are texts, numbers, true or false."}
            )
    return config


def _parse_properties(file: Path, text: str, problems: list[dict[str, str]]) -> dict[str, str]:
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
