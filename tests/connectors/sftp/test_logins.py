"""Who we are at a server of SFTP: passwords, and keys in their forms."""

from pathlib import Path

import asyncssh
import pytest

from connectors.sftp.session import key_of
from connectors.sftp.source import SftpSource
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse, read
from tests.connectors.sftp.known import KnownSftpSource, with_secrets
from tests.connectors.sftp.reading import reading
from tests.servers.files import ssh_stand_in
from tests.servers.files.ftp import PASSWORD

REFERENCE = {"password": "${env:SFTP_PASSWORD}"}


@pytest.mark.parametrize("prompts", [(), ("Password: ",)], ids=["as it is", "by keyboard-interactive"])
def test_a_password_is_given_as_the_server_asks_for_it(tmp_path: Path, prompts: tuple[str, ...]) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with ssh_stand_in.running(tmp_path, PASSWORD, prompts=prompts) as options:
        given = {**options, **REFERENCE, "path": "/"}
        with reading(KnownSftpSource(), given) as run:
            assert run.until(1) == ["a"]
        config = parse(SftpSource.options, given)
        assert list(SftpSource().check(config)) == []
        (only,) = SftpSource().check(with_secrets(config, SFTP_PASSWORD="wrong"))
        assert (only.key, only.is_warning) == ("username", False)
        assert "does not know these keys" in only.reason
        assert "wrong" not in only.reason


@pytest.mark.slow
def test_nothing_but_a_password_is_answered_to_questions_of_a_server(tmp_path: Path) -> None:
    with ssh_stand_in.running(tmp_path, PASSWORD, prompts=("Password: ", "The number on your token: ")) as options:
        config = with_secrets(parse(SftpSource.options, {**options, **REFERENCE, "path": "/"}))
        (only,) = SftpSource().check(config)
        assert only.key == "username"


def test_secrets_are_references() -> None:
    literal = {"host": "a", "username": "b", "path": "/c", "password": "d", "private.key": "e", "private.key.passphrase": "f"}
    _, problems = read(SftpSource.options, literal)
    assert {each.key for each in problems} == {"password", "private.key", "private.key.passphrase"}
    assert not {"d", "e", "f"} & {each.value for each in problems}


@pytest.mark.parametrize("form", ["openssh", "pkcs1-pem", "pkcs8-pem"])
def test_keys_are_read_in_the_forms_that_ssh_keygen_writes(form: str) -> None:
    key = asyncssh.generate_private_key("ecdsa-sha2-nistp256")
    assert key_of(key.export_private_key(form).decode(), "", "private.key").public_data == key.public_data


@pytest.mark.parametrize("form", [pytest.param("openssh", marks=pytest.mark.slow), "pkcs8-pem"])
def test_a_key_with_a_passphrase_wants_the_right_one(form: str) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    text = key.export_private_key(form, passphrase="sesame").decode()
    assert key_of(text, "sesame", "private.key").public_data == key.public_data
    for wrong, said in (("", "is not given"), ("other", "is not the passphrase")):
        with pytest.raises(PermanentError, match=said) as told:
            key_of(text, wrong, "private.key")
        assert told.value.option == "private.key.passphrase"
    for broken in ("no key", text.replace("E", "F"), key.export_public_key().decode()):
        with pytest.raises(PermanentError, match="private key of OpenSSH or PEM") as told:
            key_of(broken, "sesame", "private.key")
        assert broken not in str(told.value)
