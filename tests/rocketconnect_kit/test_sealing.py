"""What seals secrets for a store."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_kit.sealing import CannotOpen, Keys, new_key


def file_of(folder: Path, *lines: str, mode: int = 0o600) -> Path:
    file = folder / "keys"
    file.write_text("".join(f"{line}\n" for line in lines))
    file.chmod(mode)
    return file


OLD, NEW = Keys([b"o" * 32]), Keys([b"n" * 32, b"o" * 32])


@given(name=st.text(), value=st.text())
def test_what_was_sealed_opens_under_its_name_alone(name: str, value: str) -> None:
    sealed = NEW.seal(name, value)
    assert NEW.open(name, sealed) == value
    with pytest.raises(CannotOpen, match="for another name"):
        NEW.open(f"{name}x", sealed)


def test_the_same_secret_is_sealed_differently_each_time() -> None:
    assert NEW.seal("a", "value") != NEW.seal("a", "value")
    assert "value" not in NEW.seal("a", "value")


def test_an_earlier_key_opens_and_the_first_one_seals() -> None:
    old, new = OLD.seal("a", "value"), NEW.seal("a", "value")
    assert NEW.open("a", old) == NEW.open("a", new) == "value"
    assert (NEW.is_of_first(old), NEW.is_of_first(new), OLD.is_of_first(old)) == (False, True, True)
    with pytest.raises(CannotOpen, match="with a key that is not in the file"):
        OLD.open("a", new)


@given(place=st.integers(min_value=0), other=st.characters(min_codepoint=33, max_codepoint=126))
def test_what_was_changed_does_not_open(place: int, other: str) -> None:
    sealed = NEW.seal("a", "the value")
    place %= len(sealed)
    changed = sealed[:place] + other + sealed[place + 1 :]
    if changed != sealed:
        with pytest.raises(CannotOpen):
            NEW.open("a", changed)


@pytest.mark.parametrize(
    "sealed",
    ["", "v1", "v1:", "v1:00000000:", "text", f"{OLD.seal('a', 'v')}x", OLD.seal("a", "v")[:20]],
    # What is sealed looks another way each time.
    ids=["nothing", "only a form", "no key", "no text", "a text", "more than was sealed", "a part of it"],
)
def test_what_was_never_sealed_does_not_open(sealed: str) -> None:
    with pytest.raises(CannotOpen):
        OLD.open("a", sealed)


def test_a_mark_is_that_of_its_texts_and_of_the_key() -> None:
    assert NEW.mark("a", "b") == NEW.mark("a", "b")
    assert len({NEW.mark("a", "b"), NEW.mark("ab", ""), NEW.mark("a", "c"), OLD.mark("a", "b")}) == 4


def test_a_file_of_keys_is_read(tmp_path: Path) -> None:
    first, second = new_key(), new_key()
    assert first != second
    both, old = Keys.read(file_of(tmp_path, first, second)), Keys.read(file_of(tmp_path, second))
    assert both.open("a", old.seal("a", "value")) == "value"


@pytest.mark.parametrize("lines", [(), ("",), ("short",), (new_key(), "x" * 44), (new_key()[:-4],), ("é" * 44,)])
def test_a_file_without_keys_says_so_and_shows_nothing_of_it(lines: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"does not hold keys.*new-key FILE") as raised:
        Keys.read(file_of(tmp_path, *lines))
    assert not [line for line in lines if line and line in str(raised.value)]


def test_a_file_that_everybody_can_read_is_refused_and_one_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="chmod 600"):
        Keys.read(file_of(tmp_path, new_key(), mode=0o604))
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        Keys.read(tmp_path / "none")
