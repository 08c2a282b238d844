"""What a proxy of this process is asked for."""

import pytest

from rocketconnect_sdk.permissions.forwarding import proxy, wanted


def test_a_connection_goes_to_the_server_of_its_first_request_and_ends_after_it() -> None:
    head = b"GET http://store.example:9000/bucket/key?a=b HTTP/1.1\r\nHost: store.example:9000\r\nConnection: keep-alive"
    assert wanted(head) == (
        "store.example",
        9000,
        b"GET /bucket/key?a=b HTTP/1.1\r\nHost: store.example:9000\r\nConnection: close\r\n\r\n",
    )
    assert wanted(b"GET http://store.example HTTP/1.1")[:2] == ("store.example", 80)


def test_of_encrypted_requests_the_server_alone_is_seen() -> None:
    assert wanted(b"CONNECT store.example:443 HTTP/1.1\r\nHost: store.example:443") == ("store.example", 443, None)
    assert wanted(b"CONNECT [::1]:8443 HTTP/1.1") == ("::1", 8443, None)


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1", b"CONNECT store HTTP/1.1", b"GET http://a:x/ HTTP/1.1", b"GET"])
def test_what_is_no_request_to_a_proxy_is_refused(head: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of whatever kind
        wanted(head)


def test_there_is_none_in_a_process_that_nobody_guards() -> None:
    assert proxy() is None
