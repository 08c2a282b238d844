"""What the gateway adds to what people order: who it was, and a name by which an order that comes twice is carried out once."""

import uuid

from google.protobuf.message import Message

from rocketconnect_kit.access.current import IDENTITY


def sign(request: Message, author: str, reason: str = "") -> None:
    """Say who makes a change and why, where the request has a place for it and says nothing itself; who is known is the author."""
    fields, is_known = request.DESCRIPTOR.fields_by_name, IDENTITY.get() is not None
    for name, value, wins in (("author", author, is_known), ("reason", reason, False)):
        if name in fields and (wins or not getattr(request, name)):
            setattr(request, name, value)


def identify(request: Message) -> None:
    """Give a create without a request id one, so that it is not carried out twice when the connection breaks on the way."""
    if "request_id" in request.DESCRIPTOR.fields_by_name and not getattr(request, "request_id"):  # noqa: B009 - not every message has it
        setattr(request, "request_id", uuid.uuid4().hex)  # noqa: B010
