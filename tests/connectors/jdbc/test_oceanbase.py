"""What is OceanBase's own, without a server of it."""

import pymysql
import pytest

from connectors.jdbc import Fault, dialect_of, parse_url
from connectors.jdbc.endpoint import place_of

OCEANBASE = dialect_of(parse_url("oceanbase://db/shop"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("oceanbase://db/shop", "db:2881/shop"),
        ("jdbc:oceanbase://db:2883/shop", "db:2883/shop"),
        ("oceanbase+pymysql://db/shop", "db:2881/shop"),
    ],
)
def test_a_url_of_either_form_names_the_place(url: str, shown: str) -> None:
    place = parse_url(url)
    assert (place.kind, place.written_as, str(place)) == ("oceanbase", "mysql", shown)
    assert place_of(url) == f"oceanbase://{shown}/"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("jdbc:oceanbase:loadbalance://db:2883/shop", "names no host"),
        ("jdbc:oceanbase://db:2883/shop?useUnicode=true", "parameters behind a"),
    ],
)
def test_what_a_url_of_its_java_driver_may_have_besides_is_refused(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_url(url)


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (4012, Fault.AWAY),
        (4038, Fault.AWAY),
        (2013, Fault.AWAY),
        (6002, Fault.UNDONE),
        (6224, Fault.UNDONE),
        (1205, Fault.LOCKED),
        (4688, Fault.READ_ONLY),
        (5157, Fault.DENIED),
        (1406, Fault.VALUE),
        (1235, Fault.OTHER),
    ],
)
def test_its_errors_mean_what_its_source_says_of_their_numbers(number: int, fault: Fault) -> None:
    assert OCEANBASE.fault(pymysql.err.OperationalError(number, "said")) is fault
