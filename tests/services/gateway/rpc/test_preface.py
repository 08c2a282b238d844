"""REST or gRPC, by the first bytes of a connection and by what TLS agreed on."""

import pytest

from services.gateway.rpc.preface import PREFACE, speaks_grpc


@pytest.mark.parametrize("length", range(len(PREFACE)))
def test_a_part_of_the_preface_does_not_say_yet(length: int) -> None:
    assert speaks_grpc(PREFACE[:length], None) is None


@pytest.mark.parametrize(
    ("begun", "agreed", "is_grpc"),
    [
        (PREFACE, None, True),
        (PREFACE + b"\0\0\0\4", None, True),
        (b"GET / HTTP/1.1\r\n", None, False),
        (b"PRI * HTTP/1.1\r\n", None, False),
        (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", None, False),
        (b"pri * http/2.0", None, False),
        (b"\r\nPRI * HTTP/2.0", None, False),
        # What TLS agreed on is not taken back by what is said then.
        (b"", "h2", True),
        (b"GET / HTTP/1.1\r\n", "h2", True),
        (b"", "http/1.1", False),
        (PREFACE, "http/1.1", False),
    ],
)
def test_it_is_grpc_by_agreement_or_else_by_the_whole_preface(begun: bytes, agreed: str | None, is_grpc: bool) -> None:
    assert speaks_grpc(begun, agreed) is is_grpc
