"""The library is the build that was tried, or it is refused in words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketmq_native import Producer, PushConsumer, library
from rocketmq_native.producer import java_hash
from rocketmq_remoting import InvalidRequest, Unsupported


@pytest.fixture
def fresh() -> Iterator[None]:
    """The library is looked for again."""
    library.library.cache_clear()
    yield
    library.library.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_who_has_not_installed_it_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda _: None)
    with pytest.raises(Unsupported, match=r"pip install 'rocketconnect\[rocketmq-native\]'"):
        Producer("127.0.0.1:9876")


def test_a_library_without_what_tells_how_long_texts_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"librocketmq\.so can't be used"):
        library.Library(tmp_path / "librocketmq.so")
    with pytest.raises(Unsupported, match="CreateMessage"):
        library.Library(Path("libstdc++.so.6"))


def test_what_the_library_would_cut_is_refused() -> None:
    for made in (
        lambda: Producer("127.0.0.1:9876\0"),
        lambda: Producer("127.0.0.1:9876", group="a\0b"),
        lambda: Producer("127.0.0.1:9876", access_key="a", secret_key="b\0"),
        lambda: PushConsumer("127.0.0.1:9876", "group", "to\0pic", print),
    ):
        with pytest.raises(InvalidRequest, match="at which librocketmq would cut it"):
            made()


def test_a_secret_that_would_be_cut_is_not_shown() -> None:
    with pytest.raises(InvalidRequest) as caught:
        Producer("127.0.0.1:9876", access_key="a", secret_key="hidden\0")
    assert "hidden" not in str(caught.value)


# As String.hashCode of Java gives them.
@pytest.mark.parametrize(
    ("text", "hashed"), [("", 0), ("hello", 99162322), ("größe", 98762257), ("polygenelubricants", -(1 << 31))]
)
def test_a_sharding_key_has_the_hash_that_java_gives_it(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed
