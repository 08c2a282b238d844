from rocketconnect.connector.v1.connector_pb2 import Problem

from services.gateway.orders.warned import headers


def test_where_nothing_is_told_there_is_no_header() -> None:
    assert headers([]) == {}


def test_a_header_has_no_end_of_a_line_and_no_letter_beyond_ascii() -> None:
    told = headers([Problem(key="a", value='x"\r\nSet-Cookie: y\x7f', reason="is é.", fix="Go.")])
    assert told == {"Warning": r'299 - "a is \u00e9 (given: x\"\r\nSet-Cookie: y\u007f). Go."'}


def test_what_does_not_fit_into_a_header_is_counted() -> None:
    told = headers([Problem(key=f"k{number}", reason="x" * 900, fix="Go.") for number in range(5)])["Warning"]
    assert len(told) < 2_200
    assert told.count("299 - ") == 3
    assert told.endswith(', 299 - "3 more: the log of the gateway has them"')
