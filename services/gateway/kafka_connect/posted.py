"""Bodies as clients of Kafka Connect send them. Pure."""

from typing import Any

from services.gateway.api import bodies
from services.gateway.kafka_connect.words import bad_request
from services.gateway.routing import Call

_INITIAL = ("RUNNING", "PAUSED", "STOPPED")


def parsed(call: Call, *, numbers_as_text: bool = True) -> Any:
    """Return the JSON of a body; numbers as the text that was sent, unless they are to be numbers.

    Raises:
        RequestRejected: 400, 415.
    """
    bodies.require_json(call.content_type)
    return bodies.parse(call.body, numbers_as_text=numbers_as_text)


def configuration(value: Any, name: str = "") -> dict[str, str]:
    """Return the configuration in a JSON value, without its name and without what is null.

    Args:
        value: What was sent.
        name: Of the connector, which the configuration may say again; "": not known.

    Raises:
        RequestRejected: 400.
    """
    return {key: text for key, text in changes(value, name).items() if text is not None}


def changes(value: Any, name: str = "") -> dict[str, str | None]:
    """Return the keys of a patch, with None for those that go. See configuration."""
    if not isinstance(value, dict):
        raise bad_request("CONFIG_MISSING", "Send the configuration as a JSON object of keys and values.")
    wrong = [key[:200] for key, item in value.items() if isinstance(item, dict | list)]
    if wrong:
        raise bad_request("CONFIG_INVALID", f"Values of a configuration are texts, and these are none: {', '.join(wrong)}.")
    made = {
        key: None if item is None else str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()
    }
    said = made.pop("name", None)
    if name and said not in (None, name):
        message = f"Connector name configuration ({said}) doesn't match connector name in the URL ({name})"
        raise bad_request("NAME_DIFFERS", message)
    return made


def request(value: Any) -> tuple[str, dict[str, str], str]:
    """Return the name, the configuration and the first wanted state of a CreateConnectorRequest.

    Raises:
        RequestRejected: 400.
    """
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"].strip():
        raise bad_request("NAME_MISSING", 'Send {"name": NAME, "config": {...}}; the name is missing.')
    state = value.get("initial_state") or "RUNNING"
    if state not in _INITIAL:
        raise bad_request("STATE_INVALID", f"initial_state is {str(state)[:100]!r}; it is one of {', '.join(_INITIAL)}.")
    name = value["name"].strip()
    return name, configuration(value.get("config"), name), state
