import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_kit.errors import InvalidArgument
from rocketconnect_kit.pages import decode_token, encode_token, page_size


@pytest.mark.parametrize(("requested", "size"), [(0, 100), (1, 1), (1000, 1000), (100_000, 1000)])
def test_page_size_is_clamped(requested: int, size: int) -> None:
    assert page_size(requested) == size


def test_negative_page_size_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="negative"):
        page_size(-1)


@given(st.text(), st.text())
def test_token_gives_its_key_back(scope: str, key: str) -> None:
    assert decode_token(scope, encode_token(scope, key)) == key


def test_token_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidArgument) as caught:
        decode_token("plugins", encode_token("connectors", "a"))
    assert caught.value.reason == "PAGE_TOKEN_INVALID"


@given(st.text(min_size=1))
def test_any_invented_token_is_refused_and_never_a_traceback(token: str) -> None:
    with pytest.raises(InvalidArgument):
        decode_token("connectors", token)
