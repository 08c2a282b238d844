"""columns=infer: the types of the first rows, for good."""

import gzip
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.file_source import FileSource
from connectors.file_source.rows import Csv
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.inference import inferred_columns
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.schema import Type
from rocketconnect_sdk.transforms.base import Records
from rocketconnect_sdk.transforms.chain import Transformed, make

BOOKS = "year,title,price,lent,added,code\n1999,One,1.50,true,2024-02-29,007\n2005,Two,,false,2024-03-01,012\n"
FOUND = "year:int64,title,price:double,lent:boolean,added:date,code"


def raw(filename: object, **options: str) -> dict[str, str]:
    given = {"connector.class": "file_source", "topic": "t", "filename": str(filename), "format": "csv", "columns": "infer"}
    return given | {key.replace("_", "."): value for key, value in options.items()}


def planned(filename: object, tasks: int = 1, **options: str) -> list[str]:
    source = FileSource()
    return [task["columns"] for task in source.plan(parse_source(source, raw(filename, **options)), tasks, {}).tasks]


def waits(filename: object) -> str:
    """What the plan waits for."""
    with pytest.raises(SystemAway) as told:
        planned(filename)
    return str(told.value)


def problems(filename: object, **options: str) -> Sequence[Problem]:
    return [problem for problem in check_connector(raw(filename, **options)).problems if problem.key == "columns"]


def read(filename: object, columns: str, **options: str) -> list[object]:
    source = FileSource()
    config = parse_source(source, raw(filename, follow="false", **options))
    task = source.open(
        config,
        {"share": "0/1", "by": "inode", "columns": columns},
        TaskContext(connector="c", connector_uid="u", task=0, generation=1, epoch=1),
    )
    task.start({})
    found: list[object] = []
    while not task.finished:
        for batch in task.poll():
            found += batch.values
    task.close()
    return found


def test_the_plan_keeps_the_types_of_the_first_rows_for_every_task(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("year\nx\n")
    (tmp_path / "a.csv").write_text(BOOKS)
    assert planned(tmp_path / "*.csv", 3) == [FOUND] * 3


def test_tasks_read_by_the_plan_and_not_by_the_file(tmp_path: Path) -> None:
    # Where the file is another one than when the plan was made, too: all that a topic gets is of one type.
    path = tmp_path / "a.csv"
    path.write_text(BOOKS)
    (columns,) = planned(path)
    path.write_text("year,title,price,lent,added,code\n12.5,3,4,true,,1\n2001,3,4,true,,1\n")
    bad, good = read(path, columns)
    assert isinstance(bad, Rejected)
    assert "the column `year` is a whole number, and `12.5` is not; make it `double`" in bad.reason
    assert good == {"year": 2001, "title": "3", "price": 4.0, "lent": True, "added": None, "code": "1"}


def test_validation_says_what_is_found_and_how_to_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(BOOKS)
    (told,) = problems(path)
    assert (told.key, told.value, told.is_warning, told.is_note) == ("columns", "infer", True, True)
    named = "year int64, title string, price double, lent boolean, added date, code string"
    assert told.reason == f"finds {named} (the first 2 rows of {path})"
    assert f"columns={FOUND}." in told.fix
    assert problems(path, columns=FOUND) == []


def test_a_text_that_keeps_a_column_from_having_a_type_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("delay,name\n1,x\nNA,y\n")
    (told,) = problems(path)
    assert "With csv.null=NA there would be types for delay" in told.fix
    assert not told.is_note
    assert planned(path, csv_null="NA") == ["delay:int64,name"]


@pytest.mark.parametrize(
    ("text", "target", "pattern", "made"),
    [
        ("2012/01/31", "Date", "yyyy/MM/dd", date(2012, 1, 31)),
        ("31.01.2012", "Date", "dd.MM.yyyy", date(2012, 1, 31)),
        ("02/01/2012", "Date", "dd/MM/yyyy", date(2012, 1, 2)),
        ("01/31/2012", "Date", "MM/dd/yyyy", date(2012, 1, 31)),
        ("31.01.2012 10:30", "Timestamp", "dd.MM.yyyy HH:mm", datetime(2012, 1, 31, 10, 30, tzinfo=UTC)),
    ],
)
def test_dates_in_another_form_stay_texts_and_the_transform_that_makes_dates_of_them_is_told(
    tmp_path: Path, text: str, target: str, pattern: str, made: object
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,day,name\n1,{text},x\n2,,y\n")
    (columns,) = planned(path)
    assert columns == "id:int64,day,name"
    (told,) = problems(path)
    options = {
        "transforms": "date",
        "transforms.date.type": "timestamp_converter",
        "transforms.date.field": "day",
        "transforms.date.target.type": target,
        "transforms.date.format": pattern,
    }
    for key, value in options.items():
        assert f" {key}={value}" in told.fix
    assert ("(or MM/dd/yyyy, as it may be)" in told.fix) is (pattern == "dd/MM/yyyy")
    assert "csv.null= (an empty text)" in told.fix
    values = read(path, columns, csv_null="")
    schema = parse_columns(columns)
    with closing(make(options)) as chain:
        done = chain.run(Records(values, range(len(values)), "t", schema))
    assert not done.failed
    assert [value["day"] for value in given_values(done)] == [made, None]


def given_values(done: Transformed) -> list[Any]:
    return [value for records in done.runs for value in records.values]


def test_dates_that_a_transform_makes_already_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1.2.2012,1.2.2012\n")
    given = raw(path) | {
        "transforms": "day",
        "transforms.day.type": "timestamp_converter",
        "transforms.day.field": "a",
        "transforms.day.target.type": "Date",
        "transforms.day.format": "dd.MM.yyyy",
    }
    told = next(problem for problem in check_connector(given).problems if problem.key == "columns")
    assert "Dates are made of b by transforms=day,date, transforms.date.type=" in told.fix
    assert told.fix.endswith("transforms.date.format=dd.MM.yyyy.")


def test_dates_of_several_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n1.2.2012,02/01/2012,1.2.3\n")
    (told,) = problems(path)
    assert "transforms.date.format=dd.MM.yyyy; and so of b (dd/MM/yyyy or MM/dd/yyyy)." in told.fix


@pytest.mark.parametrize("content", ["", "year,title\n", "year,title", "year,title\n1999,not who"])
def test_a_file_without_a_row_is_waited_for_or_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    (told,) = problems(path)
    assert told.is_warning
    assert "waits for the first one" in told.fix
    assert waits(path) == f"{path} has no whole row from which types could be inferred; they are waited for"
    if content.count(",") < 2:
        (told,) = problems(path, follow="false")
        assert not told.is_warning
        assert "columns=id:int64,name" in told.fix
        with pytest.raises(PermanentError, match="no whole row"):
            planned(path, follow="false")
    else:  # the last line of what does not grow is a row
        assert planned(path, follow="false") == ["year:int64,title"]


def test_a_missing_file_is_waited_for_by_the_plan(tmp_path: Path) -> None:
    assert [each.is_warning for each in problems(tmp_path / "a.csv")] == [True]
    assert "no whole row" in waits(tmp_path / "a.csv")
    with pytest.raises(PermanentError):
        planned(tmp_path / "a.csv", follow="false")


def test_when_the_first_row_is_there_all_tasks_are_planned_with_its_types(tmp_path: Path) -> None:
    assert "no whole row" in waits(tmp_path / "*.csv")
    (tmp_path / "a.csv").write_text(BOOKS)
    assert planned(tmp_path / "*.csv", 2) == [FOUND] * 2


def test_names_are_needed_where_there_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    (told,) = problems(tmp_path / "a.csv", csv_header="false")
    assert (told.key, told.is_warning) == ("columns", False)
    assert "csv.header is false" in told.reason


def test_only_csv_has_columns_to_infer(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    assert [each.reason for each in problems(tmp_path / "a", format="text")] == ["means nothing with format=text"]


def test_the_first_thousand_rows_decide_in_any_form_of_the_file(tmp_path: Path) -> None:
    body = "".join(f'{number},"{number}\nü"\n' for number in range(1000))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(f"n,name\n{body}x,y\n".encode("latin-1")))
    assert planned(tmp_path / "a.csv.gz", encoding="latin-1") == ["n:int64,name"]
    large = "".join(f"{number},{'x' * 200}\n" for number in range(999)) + "1.5,x\n"
    (tmp_path / "b.csv").write_text(f"n,name\n{large}{large}")
    assert planned(tmp_path / "b.csv") == ["n:double,name"]


def _shown(value: Any, text: str) -> object:
    """The text of a value, or the number where it is one that has many."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | Decimal):
        return text if Decimal(repr(value) if isinstance(value, float) else value) == Decimal(text) else value
    if isinstance(value, datetime):
        fraction = text.partition(".")[2].removesuffix("Z")
        moment = f"{value.replace(tzinfo=None, microsecond=0).isoformat(text[10])}{'.' if fraction else ''}{fraction}"
        kept = int(fraction.ljust(6, "0") or 0) == value.microsecond
        return f"{moment}{'Z' if value.tzinfo else ''}" if kept else value
    return value.isoformat() if isinstance(value, date) else str(value)


_FIELD = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    st.sampled_from(["true", "false", "0", "-0", "-0.0", "00", "01", "1.50", "1e5", "12E3", ".5", "5.", "+1", "NaN", "inf"]),
    st.text(st.characters(codec="utf-8", exclude_characters='",\r\n\0'), min_size=1, max_size=9),
)


@given(st.one_of(st.lists(_FIELD, min_size=1, max_size=5), _FIELD.map(lambda text: [text])), st.booleans())
@example(["-0.0", "1.5"], True)
@example(["0", "1"], True)
def test_what_is_read_under_inferred_types_prints_as_it_was(texts: list[str], columns_wanted: bool) -> None:
    columns = inferred_columns({"c": texts})
    if columns.fields[0].schema.type is Type.TIMESTAMP and columns.fields[0].schema.unit.in_second > 1_000_000:
        return  # a whole number of nanoseconds
    form = Csv(1 << 20, replace=False, columns=columns, columns_wanted=columns_wanted)
    form.header(b"c")
    # The first field is never empty, so that a row of white space is no blank line.
    data = "".join(f"{text}\n" for text in texts).encode()
    values = list(form.cut(data, 0, last=True).values)
    shown = [_shown(value["c"], text) if isinstance(value, dict) else value for value, text in zip(values, texts, strict=True)]
    assert shown == texts
