import pytest

from rocketconnect_sdk.queries.text import parse_query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM records",
        "SELECT *, _key FROM records WHERE id > 1",
        "SELECT r.*, c.name FROM records r LEFT JOIN c ON r.id = c.id",
        "SELECT id FROM records WHERE id IN (SELECT max(id) FROM c)",
        "SELECT id, unnest(items) AS item FROM records",
        "SELECT id, item FROM records, unnest(records.items) AS t(item)",
    ],
)
def test_what_makes_rows_of_each_record_by_itself_is_right(text: str) -> None:
    assert '"_index"' in parse_query(text, ["c"], windowed=False).text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELEC 1", "is not valid SQL"),
        ("DELETE FROM records", "is not one SELECT"),
        ("SELECT 1; SELECT 2", "is not one SELECT"),
        ("SELECT id FROM records UNION ALL SELECT id FROM records", "is not one SELECT"),
        ("SELECT 1", "does not select from the table records"),
        ("SELECT name FROM c", "does not select from the table records"),
        ("SELECT * FROM records JOIN nope USING (id)", r"no option names: nope \(query\.tables\.nope"),
        ("SELECT * FROM records, information_schema.tables", "no option names: information_schema.tables"),
        ("SELECT * FROM records, read_csv('/etc/passwd')", "no option names: a function"),
        ("SELECT count(*) FROM records", "has an aggregate.*there is no watermark"),
        ("SELECT id, count(*) FROM records GROUP BY id HAVING count(*) > 1", "GROUP BY, HAVING, an aggregate"),
        ("SELECT row_number() OVER () FROM records", "a window function"),
        ("SELECT DISTINCT id FROM records ORDER BY id LIMIT 1", "DISTINCT, ORDER BY, LIMIT"),
        ("WITH x AS (SELECT * FROM c) SELECT * FROM records", "has WITH, which is taken with query.window alone"),
        ("SELECT * FROM c RIGHT JOIN records USING (id)", "elsewhere than once, behind FROM"),
        ("SELECT * FROM records RIGHT JOIN c USING (id)", "a RIGHT JOIN"),
        ("SELECT * FROM records a JOIN records b USING (id)", "elsewhere than once"),
        ("SELECT * FROM c WHERE id IN (SELECT id FROM records)", "elsewhere than once"),
    ],
)
def test_what_is_wrong_or_needs_several_records_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_query(text, ["c"], windowed=False)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT window_start, count(*) AS n FROM records GROUP BY ALL",
        "SELECT id FROM records QUALIFY row_number() OVER (PARTITION BY id ORDER BY at) = 1",
        "WITH most AS (SELECT id, count(*) AS n FROM records GROUP BY id) SELECT * FROM most ORDER BY n DESC LIMIT 10",
        "SELECT a.id FROM records a JOIN records b USING (id)",
    ],
)
def test_over_a_window_any_select_is_right_and_runs_as_it_is_written(text: str) -> None:
    assert parse_query(text, (), windowed=True).text == text


def test_what_it_needs_of_the_records_is_known() -> None:
    query = parse_query(
        "SELECT r.value.inner AS x, c.name, price::INT AS price, 1 AS y, _key FROM records r JOIN c USING (id) WHERE r.y > 1",
        ["c"],
        windowed=False,
    )
    assert sorted(query.needs) == ["id", "price", "value", "y"]
    assert query.about == ("_key",)
    assert not query.every


def test_all_columns_are_needed_by_a_star_and_not_by_a_count() -> None:
    assert parse_query("SELECT * FROM records", (), windowed=True).every
    assert not parse_query("SELECT count(*) AS n FROM records", (), windowed=True).every


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, new_price AS price FROM records WHERE price <> new_price",
        "SELECT id, new_price AS price FROM records WHERE PRICE <> new_price",
        "SELECT id, new_price AS price, price * 2 AS twice FROM records",
        "SELECT id, new_price AS price FROM records JOIN c ON c.id = price",
    ],
)
def test_a_name_that_may_be_a_field_or_what_is_computed_is_refused_with_both_ways_on(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)uses price.*write records\.price for the field, or another name behind AS"):
        parse_query(text, ["c"], windowed=False)


def test_what_is_computed_may_be_grouped_and_ordered_by_its_name_and_is_no_field() -> None:
    text = "SELECT station AS s, count(*) AS n FROM records GROUP BY s HAVING n > 2 ORDER BY n"
    assert parse_query(text, (), windowed=True).needs == ("station",)
