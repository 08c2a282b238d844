"""Keys of one's own as they are written."""

import pytest

from rocketconnect_sdk.changes import KEY_OPTION, MessageKeys
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import parse


def _keys(text: str) -> MessageKeys:
    return MessageKeys.of(parse([KEY_OPTION], {"message.key.columns": text}))


def test_the_first_expression_that_takes_the_whole_name_of_a_table_counts() -> None:
    keys = _keys(r"shop\.a:x, y; (?:shop|crm)\..*:z;")
    assert keys.columns("shop.a") == ("x", "y")
    assert keys.columns("crm.a") == ("z",)
    assert keys.columns("my.shop.a") == ()


@pytest.mark.parametrize("text", ["shop.a", ":x", "shop.a:", "shop.a:x,,y", "shop.a:x,x", "(:x"])
def test_what_is_no_list_of_keys_is_told_with_its_form(text: str) -> None:
    with pytest.raises(ConfigError, match=r"table:column,column"):
        _keys(text)
