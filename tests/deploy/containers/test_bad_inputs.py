"""Containers that lack what they need: they end with words that say what to do."""

from pathlib import Path

import pytest

from tests.deploy.containers.engine import Engine
from tests.deploy.containers.network import Network

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

READ_ONLY = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"]
TRUSTED = ["--env", "ROCKETCONNECT_INSECURE=true"]


@pytest.fixture
def alone(engine: Engine, network: Network) -> Path:
    """The network namespace of the only container."""
    engine.remove_all()
    return network.join("bad", ["bad"])


def ended(engine: Engine, image: str, network: Path, *options: str, command: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code of a container, and what it has said."""
    engine.start("bad", image, network, [*READ_ONLY, *options], command)
    return engine.ended("bad"), engine.logs("bad")


def test_a_service_that_nobody_has_told_whom_to_let_in_says_how(engine: Engine, images: dict[str, str], alone: Path) -> None:
    code, said = ended(engine, images["config"], alone)
    assert code == 2
    assert "give --tls-cert and --tls-key" in said
    assert "give --tokens-files" in said


def test_a_service_without_its_secret_names_the_file(engine: Engine, images: dict[str, str], alone: Path) -> None:
    code, said = ended(engine, images["gateway"], alone, *TRUSTED, "--env", "ROCKETCONNECT_TOKENS_FILES=/run/secrets/callers")
    assert code == 2
    assert "there is no readable file /run/secrets/callers" in said


@pytest.mark.parametrize("target", ["config", "all"])
def test_a_volume_of_another_user_is_named_with_what_to_do(
    engine: Engine, images: dict[str, str], whole: str, alone: Path, tmp_path: Path, target: str
) -> None:
    tmp_path.chmod(0o755)
    image, command = (whole, ("--insecure",)) if target == "all" else (images[target], ())
    code, said = ended(engine, image, alone, *TRUSTED, "--volume", f"{tmp_path}:/data", command=command)
    assert code == 1
    assert "belongs to user 0" in said
    assert "chown -R 10001" in said


def test_a_store_whose_postgresql_is_away_waits_then_says_so_without_the_password(
    engine: Engine, images: dict[str, str], alone: Path
) -> None:
    url = "ROCKETCONNECT_STORE_URL=postgresql://rocketconnect:hunter2@postgres/rocketconnect"
    code, said = ended(engine, images["config"], alone, *TRUSTED, "--env", url)
    assert code == 1
    assert "the store does not answer" in said
    assert "postgres" in said
    assert "hunter2" not in said
