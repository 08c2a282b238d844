"""How packed messages begin, for those who do not load Arrow to look at one. Pure."""

_BEGIN = b"\xff\xff\xff\xff"
"""How a stream of Arrow begins."""


def may_be_packed(body: bytes) -> bool:
    """Whether these bytes begin as a packed message does; no text and no JSON does."""
    return body.startswith(_BEGIN)
