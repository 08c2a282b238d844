"""What the client and the server say when something goes wrong, in our words and by what can be done about it."""

import re
import ssl
from socket import gaierror
from typing import Any

from pika import exceptions as own
from pika.adapters.utils import connection_workflow as opening

from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway

_SAID = re.compile(r"\((\d{3})\) ['\"](.*)['\"]", re.DOTALL)
_TOO_LARGE = re.compile(r"message size (\d+) (?:is )?larger than configured max size (\d+)")
_ALERT = re.compile(r"ALERT_\w*(?:CERTIFICATE|UNKNOWN_CA)\w*\] ([\w ]+)")
_PASSES = ("connection limit", "down or inaccessible", "timed out", "timeout on channel")
"""Words of refusals that end by themselves."""


class NotThere(PermanentError):
    """The server has no such queue or exchange."""


class MessageTooLarge(PermanentError):
    """The server takes no message of this size.

    Attributes:
        most: So many bytes one may have.
    """

    def __init__(self, message: str, most: int) -> None:
        super().__init__(message)
        self.most = most


_BY_CLASS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], type[ConnectorError], str], ...] = (
    (ssl.SSLError, SystemAway, "no TLS with the server: {words}"),
    (gaierror, SystemAway, "its host is not known: {words}"),
    (
        (own.IncompatibleProtocolError, own.ProtocolVersionMismatch),
        RetriableError,
        "what answers there is no server of AMQP 0-9-1{or_tls}. Correct the port or the scheme in `url`",
    ),
    (own.AMQPHeartbeatTimeout, SystemAway, "nothing is heard of the server any more"),
    ((opening.AMQPConnectorStackTimeout, TimeoutError), SystemAway, "the server does not answer within {seconds:g} s"),
    (own.AuthenticationError, PermanentError, "the server knows no way to prove who we are by user and password"),
    ((own.AMQPConnectionError, OSError), SystemAway, "the server does not answer: {words}"),
)
"""The first one counts."""

_RIGHTS = "Give the user what is missing: rabbitmqctl set_permissions, or set_topic_permissions"
_OTHER_FORM = "Make the options of the declaration those that it has, or leave the declaration out"
_BY_CODE: dict[int, tuple[type[ConnectorError], str]] = {
    403: (PermanentError, f"the server does not let us do this: {{words}} (403). {_RIGHTS}"),
    404: (NotThere, "the server has {words} (404)"),
    405: (PermanentError, "somebody else has it alone: {words} (405)"),
    406: (PermanentError, f"it is there in another form: {{words}} (406). {_OTHER_FORM}"),
    502: (PermanentError, "the server refuses it: {words} (502)"),
    503: (PermanentError, "the server refuses it: {words} (503)"),
    530: (PermanentError, "the server refuses it: {words} (530). Correct virtual.host, or the user"),
    540: (PermanentError, "the server refuses it: {words} (540)"),
}
"""https://www.rabbitmq.com/docs/channels#error-handling"""


def fault_of(error: BaseException, place: str, seconds: float) -> ConnectorError:
    """The error of a connector that stands for an error of the client.

    Args:
        error: That.
        place: The URL of the server.
        seconds: How long an answer may take.
    """
    cause = _cause(error)
    if isinstance(cause, ConnectorError):
        return cause
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = f"the certificate of the server is not trusted: {cause.verify_message}"
        return PermanentError(f"{place}: {why}. Correct ssl.ca.location or `url`")
    if found := _ALERT.search(str(cause)):
        fix = "Set ssl.certificate.location to one that it trusts"
        return PermanentError(f"{place}: the server does not take our certificate, or wants one: {found[1].strip()}. {fix}")
    if (closed := _closed(cause)) is not None:
        return said(*closed, place)
    words = str(cause) or type(cause).__name__
    # What a server says of certificates may be lost when it ends the connection at once.
    or_tls = ", or does not take our certificate, or wants one" if place.startswith("amqps:") else ""
    for classes, kind, text in _BY_CLASS:
        if isinstance(cause, classes):
            return kind(f"{place}: {text.format(words=words, seconds=seconds, or_tls=or_tls)}")
    return RetriableError(f"{place}: what the server has sent can't be read: {type(cause).__name__}: {words}")


def said(code: int, text: str, place: str) -> ConnectorError:
    """What the server has said when it closed a channel or a connection."""
    name, _, rest = text.partition(" - ")
    words = rest or name
    if found := _TOO_LARGE.search(text):
        why = f"a message has {int(found[1]):,} bytes, and the server takes {int(found[2]):,} at most (max_message_size)"
        return MessageTooLarge(f"{place}: {why}", int(found[2]))
    if any(each in text for each in _PASSES):
        return SystemAway(f"{place}: the server refuses it for now: {words} ({code})")
    if "Login was refused" in text:
        return PermanentError(f"{place}: the server refuses user or password ({code}). Correct them")
    if code in _BY_CODE:
        kind, words_of = _BY_CODE[code]
        return kind(f"{place}: {words_of.format(words=words)}")
    return SystemAway(f"{place}: the server has ended the connection: {words} ({code})")


def _cause(error: Any) -> Any:
    """What is within the errors that connecting wraps around it."""
    while isinstance(error, opening.AMQPConnectionWorkflowFailed | opening.AMQPConnectorPhaseErrorBase):
        error = error.exceptions[-1] if isinstance(error, opening.AMQPConnectionWorkflowFailed) else error.exception
    return error


def _closed(error: Any) -> tuple[int, str] | None:
    """The code and the text with which the server has ended something; None: it was not the server."""
    if isinstance(error, own.ChannelClosed | own.ConnectionClosed):
        return error.reply_code, error.reply_text
    if isinstance(error, own.ProbableAuthenticationError | own.ProbableAccessDeniedError):
        # While it connects the client has it as a text alone.
        found = _SAID.search(str(error.args[0]))
        return None if found is None else (int(found[1]), found[2])
    return None
