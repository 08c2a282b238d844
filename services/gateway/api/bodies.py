"""JSON bodies, read strictly: what can't be meant is refused before anybody acts on it. Pure."""

import json
from collections import Counter
from typing import Any

from rocketconnect_kit.errors import FieldProblem
from services.gateway.problems import Problem, RequestRejected, malformed

LIMIT_BYTES = 1024 * 1024
"""A larger body is refused."""


def require_json(content_type: str) -> None:
    """Refuse bodies that say they are something else; without a content type a body counts as JSON.

    Raises:
        RequestRejected: 415.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not kind.endswith("+json"):
        detail = f"the body is {kind[:100]}; send application/json"
        raise RequestRejected(Problem(415, "NOT_JSON_CONTENT", detail, headers={"Accept": "application/json"}))


def parse(body: bytes, *, numbers_as_text: bool = False) -> Any:
    """Return the value of a JSON text.

    Args:
        body: UTF-8.
        numbers_as_text: Give numbers as the text that was sent ("1.0", "1e3") instead of int and float.

    Raises:
        RequestRejected: 400; BODY_MISSING, BODY_NOT_UTF8, BODY_NOT_JSON (where it breaks, or what is given twice).
    """
    if not body.strip():
        raise malformed("BODY_MISSING", "the body is empty; send a JSON object")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise malformed("BODY_NOT_UTF8", f"the body is not UTF-8 (byte {error.start}); send JSON encoded as UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=str if numbers_as_text else None,
            parse_float=str if numbers_as_text else None,
        )
    except RecursionError:
        raise malformed("BODY_NOT_JSON", "the body is nested too deeply; no request of this API is") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise malformed("BODY_NOT_JSON", f"the body is not JSON: {error.msg} at {where}; send a JSON object") from None
    except ValueError as error:
        # Python's own limit on the digits of an integer.
        raise malformed("BODY_NOT_JSON", f"the body holds a number that is too long: {error}") from None
    if "\\u" in text:
        _refuse_lone_surrogates(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = sorted(key[:200] for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        problems = [FieldProblem(key, "", "is given twice", "give it once") for key in twice]
        raise malformed("BODY_NOT_JSON", "the body gives a key twice: " + ", ".join(map(repr, twice)), problems)
    return members


def _refuse_constant(name: str) -> Any:
    raise malformed("BODY_NOT_JSON", f"the body holds {name}, which is not JSON; numbers are finite")


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        detail = "the body holds half of a surrogate pair (\\ud800 to \\udfff), which is no character; send whole pairs or UTF-8"
        raise malformed("BODY_NOT_UTF8", detail) from None
