"""Times as text by the patterns of Java's SimpleDateFormat."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.transforms.java_time import JavaTime, format_problem, patterns_of

AT = datetime(2024, 5, 1, 15, 4, 9, 70_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyyMMddHHmmssSSS", "20240501150409070"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-05-01T15:04:09.070Z"),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Wed, 1 May 2024 15:04:09 +0000"),
        ("EEEE MMMM yy h:mm a z", "Wednesday May 24 3:04 PM UTC"),
        ("D'.'DDDD X XX", "122.0122 Z Z"),
        ("'o''clock' ''", "o'clock '"),
        ("y/M", "2024/5"),
        ("hh", "03"),
    ],
)
def test_a_time_is_written(pattern: str, expected: str) -> None:
    assert JavaTime(pattern).write(AT) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyyMMddHHmmssSSS", "20240501150409070", AT.replace(microsecond=70_000)),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2024-05-01T17:04:09+02:00", AT.replace(microsecond=0)),
        ("yyyy-MM-dd HH:mm:ss X", "2024-05-01 13:04:09 -02", AT.replace(microsecond=0)),
        ("yyyy-MM-dd HH:mm:ss Z", "2024-05-01 15:34:09 +0030", AT.replace(microsecond=0)),
        ("d MMM yyyy hh:mm a", "1 may 2024 12:05 am", datetime(2024, 5, 1, 0, 5, tzinfo=UTC)),
        ("d MMMM yyyy hh:mm a", "1 September 2024 12:05 PM", datetime(2024, 9, 1, 12, 5, tzinfo=UTC)),
        ("dd/MM/yy", "1/5/24", datetime(2024, 5, 1, tzinfo=UTC)),
        ("yyyy DDD", "2024 366", datetime(2024, 12, 31, tzinfo=UTC)),
        ("EEE HH:mm", "Thu 01:02", datetime(1970, 1, 1, 1, 2, tzinfo=UTC)),
    ],
)
def test_a_text_is_read(pattern: str, text: str, expected: datetime) -> None:
    assert JavaTime(pattern).read(text) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "why"),
    [
        ("yyyy-MM-dd", "2024-5-1x", "is no time of that format"),
        ("yyyyMMdd", "2024511", "is no time of that format"),
        ("yyyy-MM-dd", "2024-02-30", "day"),
        ("yyyy-yyyy", "2024-2024", "which has .'y'. twice"),
        ("yyyy-MM-dd X", "0001-01-01 +10", "beyond the years 1 to 9999"),
    ],
)
def test_what_is_no_time_of_the_format_is_refused(pattern: str, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        JavaTime(pattern).read(text)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("", "is empty"), ("'", "an apostrophe"), ("yyyy'T", "an apostrophe"), ("YYYY", "has YYYY"), ("SS", "has SS")],
)
def test_what_is_no_pattern_is_told(pattern: str, why: str) -> None:
    assert why in (format_problem(pattern) or "")


@given(st.datetimes(datetime(1000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  # the limits of hypothesis have no zone
def test_what_was_written_is_read_again(at: datetime) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    for pattern in ("yyyyMMddHHmmssSSS", "EEEE, d MMMM yyyy h:m:s.SSS a XXX", "yyyy/D H-m-s SSS"):
        assert JavaTime(pattern).read(JavaTime(pattern).write(at)) == at


@pytest.mark.parametrize(
    ("texts", "patterns"),
    [
        (["2012/01/01", "2012/12/31"], ["yyyy/MM/dd"]),
        (["01.02.2012"], ["dd.MM.yyyy"]),
        (["02/01/2012", "3/4/2012"], ["dd/MM/yyyy", "MM/dd/yyyy"]),
        (["02/01/2012", "13/01/2012"], ["dd/MM/yyyy"]),
        (["02/01/2012", "01/13/2012"], ["MM/dd/yyyy"]),
        (["1.2.2012 12:30", "1.2.2012 1:30"], ["dd.MM.yyyy HH:mm"]),
        (["5 Jan 2012"], ["d MMM yyyy"]),
        (["13/13/2012"], []),
        (["02/01/2012", "soon"], []),
        (["1.2.3"], []),
        (["x" * 100], []),
        ([], []),
    ],
)
def test_texts_say_of_which_usual_patterns_they_are(texts: list[str], patterns: list[str]) -> None:
    assert patterns_of(texts) == patterns
