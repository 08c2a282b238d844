"""What pages show, the examples in a folder of a test, and commands that change a database which other tests have, too."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.console import Shown, commands, said
from tests.servers.mariadb import PASSWORD, Mariadb

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


def written_in(page: str) -> list[Shown]:
    """The commands of a page that goes on where the first pipeline ends; its path is from the root of the repository."""
    return [Shown("alias rc=.venv/bin/rocketconnect", ""), *commands((ROOT / page).read_text(encoding="utf-8"))]


def copied(folder: Path, changes: dict[str, str] | None = None) -> Path:
    """A folder with the examples in it, whose configurations mean it when they say /tmp."""
    shutil.copytree(EXAMPLES, folder / "examples")
    for path in (folder / "examples").glob("*/*.yaml"):
        text = path.read_text()
        for old, new in {"/tmp/": f"{folder}/", **(changes or {})}.items():
            text = text.replace(old, new)
        path.write_text(text)
    return folder


def renamed(topic: str, name: str) -> dict[str, str]:
    """Changes that give a topic, and those that begin with its name, another one: tests share an instance, which keeps topics."""
    return {f"topic: {topic}": f"topic: {name}", f"topics: {topic}-": f"topics: {name}-"}


def said_with_mariadb(
    shown: Sequence[Shown], instance: Any, folder: Path, ports: Mapping[str, str], mariadb: Mariadb
) -> list[Shown]:
    """What the commands say; what they have made in MariaDB is gone afterwards."""
    with mariadb.connect() as root, root.cursor() as cursor:
        try:
            return said(shown, instance.url, folder, {"-u root": f"-u root -p{PASSWORD}", **ports})
        finally:
            cursor.execute("DROP DATABASE IF EXISTS shop")
            for user in ("shop_reader", "shop_writer"):
                cursor.execute(f"DROP USER IF EXISTS {user}@'%'")
