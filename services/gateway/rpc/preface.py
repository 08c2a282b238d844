"""Whether a connection speaks gRPC or REST. Pure."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""How every connection of HTTP/2 begins (RFC 9113, section 3.4); no request of HTTP/1.1 does."""

AGREED = ("http/1.1", "h2")
"""What TLS agrees on (ALPN), the dearest first. Browsers and curl offer both and want REST; clients of gRPC offer h2 alone."""


def speaks_grpc(begun: bytes, agreed: str | None) -> bool | None:
    """Return whether it is gRPC; None: too little has come to say.

    Args:
        begun: What has been read so far.
        agreed: What was agreed on in TLS; None: nothing, or there is no TLS.
    """
    if agreed is not None:
        return agreed == "h2"
    if begun.startswith(PREFACE):
        return True
    return None if PREFACE.startswith(begun) else False
