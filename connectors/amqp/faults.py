"""What the broker and the network say when something goes wrong, in our words and by what can be done about it."""

import re
import ssl
from socket import gaierror
from typing import Any

from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway

_ALERT = re.compile(r"ALERT_\w*(?:CERTIFICATE|UNKNOWN_CA)\w*\] ([\w ]+)")
_TOO_LARGE = "amqp:link:message-size-exceeded"
_NOT_FOUND = "amqp:not-found"
_NO_RIGHTS = "amqp:unauthorized-access"
_NO_PERMISSION = "does not have permission"
"""Artemis says so of its own errors."""
_RIGHTS = "Give the user what is missing"
_PASSES = ("already connected", "in use", "resource-locked")
"""Words of refusals that end by themselves: a connection of ours that the broker has not given up yet is one of them."""


class NotThere(PermanentError):
    """The broker has no such queue or topic."""


class MessageTooLarge(PermanentError):
    """The broker takes no message of this size."""


_BY_CONDITION: dict[str, tuple[type[ConnectorError], str]] = {
    _NOT_FOUND: (NotThere, "the broker does not have it: {words}"),
    _TOO_LARGE: (MessageTooLarge, "the broker takes no message of this size: {words}"),
    _NO_RIGHTS: (PermanentError, f"the broker does not let us do this: {{words}}. {_RIGHTS}"),
    "amqp:not-allowed": (PermanentError, "the broker does not allow it: {words}"),
    "amqp:invalid-field": (PermanentError, "the broker refuses it: {words}"),
    "amqp:not-implemented": (PermanentError, "the broker can't do this: {words}"),
    "amqp:precondition-failed": (PermanentError, "the broker refuses it: {words}"),
    "amqp:decode-error": (RetriableError, "the broker could not read it: {words}"),
    "amqp:connection:framing-error": (
        RetriableError,
        "what answers there does not speak AMQP 1.0, or no more: {words}. Correct the port or the scheme in `url`",
    ),
}
"""https://docs.oasis-open.org/amqp/core/v1.0/os/amqp-core-transport-v1.0-os.html#type-amqp-error"""

_BY_CLASS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLError, "no TLS with the broker: {words}"),
    (gaierror, "its host is not known: {words}"),
    (TimeoutError, "the broker does not answer within {seconds:g} s"),
    (OSError, "the broker does not answer: {words}"),
)
"""The first one counts."""


def refused(condition: Any, place: str, what: str = "") -> ConnectorError:
    """What the broker has said when it ended a connection, a session or a link, or would not begin one.

    Args:
        condition: As the client has it; None: it has not said why.
        place: The URL of the broker.
        what: Which link of ours it was.
    """
    about = f"{place}: {what}: " if what else f"{place}: "
    if condition is None:
        return SystemAway(f"{about}the broker has ended it, and does not say why")
    words, said = words_of(condition), f"{condition.name} {condition.description} {condition.info}"
    if any(each in said for each in _PASSES):
        return SystemAway(f"{about}the broker refuses it for now: {words}")
    name = _NO_RIGHTS if _NO_PERMISSION in said else condition.name
    kind, text = _BY_CONDITION.get(name, (SystemAway, "the broker has ended it: {words}"))
    return kind(about + text.format(words=words))


def words_of(condition: Any) -> str:
    """The condition of the broker as a text."""
    return f"{condition.description} ({condition.name})" if condition.description else str(condition.name)


def login_refused(place: str, outcome: int | None, offered: str) -> ConnectorError:
    """SASL has failed.

    Args:
        place: The URL of the broker.
        outcome: As the protocol has it; None: there was none.
        offered: The mechanisms that we have.
    """
    if outcome is None or outcome == 1:
        why = "refuses user or password, or lets nobody in in this way" if "PLAIN" in offered else "wants to know who we are"
        return PermanentError(f"{place}: the broker {why} (SASL {offered}). Correct `user` and `password`, or the certificate")
    return SystemAway(f"{place}: the broker can't look at who we are for now (SASL {offered}, outcome {outcome})")


def fault_of(error: BaseException, place: str, seconds: float) -> ConnectorError:
    """The error of a connector that stands for an error of the network.

    Args:
        error: That.
        place: The URL of the broker.
        seconds: How long an answer may take.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"the certificate of the broker is not trusted: {error.verify_message}"
        return PermanentError(f"{place}: {why}. Correct ssl.ca.location or `url`")
    if found := _ALERT.search(str(error)):
        fix = "Set ssl.certificate.location to one that it trusts"
        return PermanentError(f"{place}: the broker does not take our certificate, or wants one: {found[1].strip()}. {fix}")
    words = str(error) or type(error).__name__
    text = next(text for kind, text in _BY_CLASS if isinstance(error, kind))
    return SystemAway(f"{place}: {text.format(words=words, seconds=seconds)}")
