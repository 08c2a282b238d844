"""Text is what the server makes of the same bytes."""

import pytest

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.values.charsets import charset_of, text_of
from tests.connectors.mysql_cdc_source.binlog.reading import Database


@pytest.mark.mariadb
def test_every_collation_of_the_server_is_of_the_character_set_that_it_says(database: Database) -> None:
    found = database.select("SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY")
    assert len(found) > 1_000
    assert {number: charset_of(number) for number, _ in found} == dict(found)


_SINGLE = [
    *("armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "dec8", "geostd8", "greek", "hebrew"),
    *("hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "swe7", "tis620"),
]


@pytest.mark.mariadb
@pytest.mark.parametrize("charset", _SINGLE)
def test_every_byte_is_the_character_that_the_server_has_for_it(database: Database, charset: str) -> None:
    numbers = range(128) if charset == "ascii" else range(256)
    query = ",".join(f"CONVERT(_{charset} X'{number:02x}' USING utf8mb4)" for number in numbers)
    # What stands for no character is shown as a question mark.
    shown = database.select(f"SELECT {query}")[0]
    wanted = ["\ufffd" if text == "?" and number != 0x3F else text for number, text in enumerate(shown)]
    read = text_of(charset)
    assert [read(bytes([number])) for number in numbers] == wanted


def test_a_collation_and_a_character_set_that_nobody_knows_are_named() -> None:
    with pytest.raises(MalformedEvent, match="collation number 9999"):
        charset_of(9999)
    with pytest.raises(MalformedEvent, match="'klingon'"):
        text_of("klingon")
