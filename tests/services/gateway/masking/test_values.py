"""What is left of a value of which fields are masked."""

import json

import pytest

from services.gateway.masking.rules import Fields
from services.gateway.masking.values import masked, masked_bytes

FIELDS = Fields(frozenset({"email", "address.street"}))


@pytest.mark.parametrize(
    ("text", "left", "hidden"),
    [
        ('{"id": 12345678901234567890, "email": "a@b"}', '{"id":12345678901234567890,"email":"***"}', {"email"}),
        ('{"price": 1.10, "n": NaN, "ok": true, "no": null}', '{"price":1.10,"n":NaN,"ok":true,"no":null}', set()),
        ('{"EMail": {"of": "a"}, "Email": ["b"]}', '{"EMail":"***","Email":"***"}', {"EMail", "Email"}),
        ('{"\\u0065mail": "a"}', '{"email":"***"}', {"email"}),
        ('{"email": "a", "email": "b"}', '{"email":"***","email":"***"}', {"email"}),
        ('{"payload": {"before": null, "after": {"email": "a"}}}', None, {"payload.after.email"}),
        ('{"address": [{"street": "s", "town": "t"}]}', '{"address":[{"street":"***","town":"t"}]}', {"address.street"}),
        ('{"street": "s", "address.street": "s"}', '{"street":"s","address.street":"***"}', {"address.street"}),
        ('{"of": "{\\"email\\": \\"a\\", \\"n\\": 1}"}', None, {"of.email"}),
        ('[{"email": "a"}, {"id": 1}]', '[{"email":"***"},{"id":1}]', {"email"}),
        ('{"half": "\\ud800", "word": "\\u4f60"}', '{"half":"\\ud800","word":"你"}', set()),
    ],
)
def test_of_a_json_object_the_fields_are_masked_wherever_they_stand_and_all_else_stays(
    text: str, left: str | None, hidden: set[str]
) -> None:
    found: set[str] = set()
    shown = masked(text, FIELDS, found)
    assert found == hidden
    assert "***" in shown or not hidden
    assert "a@b" not in shown
    assert left is None or shown == left
    assert masked_bytes(text.encode(), FIELDS, set()).decode() == shown


@pytest.mark.parametrize(
    "text",
    [
        "a@b",
        '"a@b"',
        "[1, 2]",
        '["a@b"]',
        "7",
        '{"email": "a@b',
        '{"id": 1} a@b',
        "YUBi",
        "[]",
        "[" * 100_000,
        '[{"id": 1}, "a@b"]',
    ],
)
def test_what_is_no_json_object_is_masked_as_a_whole(text: str) -> None:
    hidden: set[str] = set()
    assert (masked(text, FIELDS, hidden), hidden) == ("***", {"value"})


def test_bytes_that_are_no_text_are_masked_and_none_stay_none() -> None:
    hidden: set[str] = set()
    assert (masked_bytes(b"", FIELDS, hidden), hidden) == (b"", set())
    assert (masked_bytes(b"\xffa@b", FIELDS, hidden), hidden) == (b"***", {"value"})
    nested = json.dumps({"of": json.dumps({"of": json.dumps({"email": "a@b"})})})
    assert b"a@b" not in masked_bytes(nested.encode(), FIELDS, hidden)


@pytest.mark.parametrize(
    "text",
    [
        '{"email": "a@b"}\n{"email": "a@b"}',
        '{"email": "a@b", "cut',
        'got {"EMAIL": "a@b"}',
        '{"em\\u0061il": "a@b"} and more',
    ],
)
def test_a_text_that_is_json_in_part_is_masked_where_it_may_have_a_field(text: str) -> None:
    hidden: set[str] = set()
    assert (masked(json.dumps({"log": text}), FIELDS, hidden), hidden) == ('{"log":"***"}', {"log"})


@pytest.mark.parametrize("text", [json.dumps(json.dumps({"email": "a@b"})), '\ufeff{"email": "a@b"}', '\ufeff[{"email": "a@b"}]'])
def test_json_in_a_text_loses_its_field_however_often_it_was_quoted_or_marked(text: str) -> None:
    hidden: set[str] = set()
    assert "a@b" not in masked(json.dumps({"log": text}), FIELDS, hidden)
    assert hidden == {"log.email"}


@pytest.mark.parametrize("text", ["write an email", "{placeholder}", '"quoted" and {not}', "[INFO] {x}"])
def test_a_text_that_has_no_such_field_is_shown(text: str) -> None:
    value = json.dumps({"log": text}, separators=(",", ":"))
    assert masked(value, FIELDS, set()) == value
