"""The types that tables of SQLite are read with."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal

from hypothesis import strategies as st

from tests.pairs.kinds import FLOATS, JSON, Kind, text, whole

SQLITE: Mapping[str, Kind] = {
    "boolean": Kind("boolean", st.booleans(), bool),
    "bigint": Kind("bigint", whole(64)),
    "double": Kind("double", FLOATS),
    "text_decimal(10,2)": Kind("text_decimal(10,2)", st.integers(-(10**9), 10**9).map(lambda cents: f"{cents / 100:.2f}"), Decimal),
    "text": Kind("text", text(300)),
    "blob": Kind("blob", st.binary(max_size=1000)),
    "date": Kind("date", st.dates().map(str), date.fromisoformat),
    "time": Kind("time", st.times().map(lambda at: at.isoformat("microseconds")), time.fromisoformat),
    "datetime": Kind("datetime", st.datetimes().map(str), datetime.fromisoformat),
    "timestamp": Kind(
        "timestamp",
        st.datetimes(datetime.fromisoformat("0002-01-01"), datetime.fromisoformat("9998-12-31")).map(lambda at: f"{at}Z"),
        lambda text: datetime.fromisoformat(text).astimezone(UTC),
    ),
    "json": Kind("text", JSON.map(json.dumps)),
}
