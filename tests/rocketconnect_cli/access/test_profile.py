"""How the command line reaches a gateway, and as whom."""

from pathlib import Path

import pytest

from rocketconnect_cli.access.profile import FILE, Profile, chosen
from rocketconnect_cli.api import ApiError, Exit


def profiles(folder: Path, text: str) -> dict[str, str]:
    path = folder / "profiles.toml"
    path.write_text(text)
    return {FILE: str(path)}


def test_the_command_line_wins_over_the_environment_which_wins_over_the_profile(tmp_path: Path) -> None:
    environment = profiles(tmp_path, '[prod]\nurl = "https://rc:8082"\ntoken-file = "/t"\ncacert = "/ca"\n')
    assert chosen(Profile(), "prod", environment) == Profile("https://rc:8082", token_file="/t", cacert="/ca")
    environment["ROCKETCONNECT_CACERT"] = "/other"
    assert chosen(Profile(), "prod", environment).cacert == "/other"
    assert chosen(Profile(cacert="/mine"), "prod", environment).cacert == "/mine"
    assert chosen(Profile(), "", environment) == Profile(cacert="/other")


def test_the_nearest_place_that_names_a_token_or_its_file_counts(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-file\n")
    given = chosen(Profile(token_file=str(tmp_path / "token")), "", {"ROCKETCONNECT_TOKEN": "of-the-environment"})
    assert given.access().token == "of-the-file"
    assert chosen(Profile(token="mine"), "", {"ROCKETCONNECT_TOKEN_FILE": "/nowhere"}).access().token == "mine"
    assert "mine" not in repr(Profile(token="mine"))


def test_of_a_token_and_a_file_that_are_both_named_the_token_counts(tmp_path: Path) -> None:
    environment = profiles(tmp_path, '[prod]\nurl = "https://rc:8082"\n')
    assert chosen(Profile(token="mine", token_file="/nowhere"), "prod", environment).access().token == "mine"
    environment |= {"ROCKETCONNECT_TOKEN": "mine", "ROCKETCONNECT_TOKEN_FILE": "/nowhere"}
    assert chosen(Profile(), "prod", environment).access().token == "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[prod", "is not TOML"),
        ('[prd]\nurl = "x"\n', r"has no profile \[prod\]: did you mean prd\?"),
        ("", r"has no profile \[prod\]: there is none"),
        ('[prod]\nuri = "x"\nkey = 1\n', r"\[prod\]: uri is none of url, token-file, cacert, cert, key; key is no text"),
        ('[prod]\ntoken = "x"\n', "token is none of"),
    ],
)
def test_what_is_wrong_with_a_file_of_profiles_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ApiError, match=told) as raised:
        chosen(Profile(), "prod", profiles(tmp_path, text))
    assert raised.value.exit_code is Exit.WRONG


def test_a_file_that_is_not_there_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r'No such file.*Write it, with \[prod\] and url = "https://HOST:8082"'):
        chosen(Profile(), "prod", {FILE: str(tmp_path / "none")})
    with pytest.raises(ApiError, match="the file with the token: No such file"):
        Profile(token_file=str(tmp_path / "none")).access()
    with pytest.raises(ApiError, match="Give PEM files that can be read with --cacert, --cert and --key"):
        Profile(cacert=str(tmp_path / "none")).access()
    with pytest.raises(ApiError, match="characters that no token has"):
        Profile(token="a\nb").access()
