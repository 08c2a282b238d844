"""A plugin of Kafka Connect by its coordinates in a Maven repository, which the machine reaches as for the other jars."""

import os
import re
import shutil
from pathlib import Path
from xml.sax.saxutils import quoteattr

from rocketconnect_cli.kafka_plugins.archives import take_jars
from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_kit.java import ivy
from rocketconnect_kit.java.errors import JarsUnavailable
from rocketconnect_kit.java.find import find_java

COORDINATES = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)")
_MOVING = ("LATEST", "RELEASE")


def fetch(coordinates: str, into: Path, work: Path) -> None:
    """Fetches the archive that its authors have made of the plugin (Debezium does), else its jar and all that this needs.

    Args:
        coordinates: GROUP:ARTIFACT:VERSION.
        into: Gets the jars.
        work: A folder that is there for this.

    Raises:
        PluginRefused: these are no coordinates, or the version says nothing fixed.
        JarsUnavailable, JavaMissing: it can't be fetched.
    """
    match = COORDINATES.fullmatch(coordinates)
    if match is None:
        msg = f"{coordinates} is not of the form GROUP:ARTIFACT:VERSION, as org.apache.kafka:connect-file:4.3.1"
        raise PluginRefused(msg)
    group, name, version = match.groups()
    if version.upper() in _MOVING or version.endswith("-SNAPSHOT"):
        msg = f"{coordinates} names no fixed version: what it stands for changes"
        raise PluginRefused(msg)
    java, named = find_java(), f"org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)}"
    repository = os.environ.get(ivy.REPOSITORY_VARIABLE)
    archive = f'<artifact name={quoteattr(name)} type="tar.gz" ext="tar.gz" m:classifier="plugin"/>'
    module = ivy.module([f'<dependency {named} transitive="false" conf="default">{archive}</dependency>'])
    try:
        ivy.resolve(module, ivy.settings(repository), work / "archive", java=java, types=("tar.gz",))
        (found,) = (work / "archive" / "lib").iterdir()
    except (JarsUnavailable, OSError, ValueError):
        # Most have none.
        found = None
    if found is not None:
        return take_jars(found, into)
    module = ivy.module([f'<dependency {named} conf="default"/>'])
    try:
        ivy.resolve(module, ivy.settings(repository, with_poms=True), work / "jars", java=java)
    except JarsUnavailable as error:
        msg = f"{coordinates} could not be fetched (a mirror: {ivy.REPOSITORY_VARIABLE}=URL). The download said:\n{error}"
        raise JarsUnavailable(msg) from error
    for jar in (work / "jars" / "lib").glob("*.jar"):
        shutil.move(jar, into / jar.name)
    return None
