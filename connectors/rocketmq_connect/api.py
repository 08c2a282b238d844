"""A plugin of RocketMQ Connect in the Java of this process: its classes, and those of the API that it is written for.

The API is loaded once, by a loader that sees nothing of Kafka Connect. Each plugin has a loader behind that one, so that two
plugins see nothing of each other, and a plugin that brings the classes of the API itself runs with ours.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from connectors.java.machine import USUAL_HEAP
from connectors.kafka_connect.jvm import Java
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins.kafka import ROCKETMQ_LIBRARY, JavaPlugin

PACKAGE = "io.openmessaging.connector.api."


class PluginJava(Java):
    """See the module.

    Args:
        plugin: It.
        heap: Of Java, in bytes, where it is not yet started.
        library: The folder of the API; None: beside the plugin.
    """

    def __init__(self, plugin: JavaPlugin, heap: int = USUAL_HEAP, library: Path | None = None) -> None:
        self._known: dict[str, Any] = {}
        self._library = library or plugin.folder.parent / ROCKETMQ_LIBRARY
        super().__init__(plugin, heap)

    def _loader(self, plugin: JavaPlugin) -> Any:
        self._api = _api(self._library)
        return _loader_of(plugin.jars, self._api)

    def api(self, name: str) -> Any:
        """A class of the API, by its name behind io.openmessaging.connector.api."""
        return self.known(PACKAGE + name)

    def known(self, name: str) -> Any:
        """A class of the API, or of Java itself, by its full name."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self.jpype.JClass(self._api.loadClass(name))
        return found

    def proxy(self, interface: str, methods: Mapping[str, Any]) -> Any:
        """An object of an interface of the API whose methods are functions of ours."""
        return self.jpype.JProxy(self.api(interface), dict=methods)

    def key_values(self, texts: Mapping[str, str]) -> Any:
        """Texts as the KeyValue of a configuration."""
        made = self.known("io.openmessaging.internal.DefaultKeyValue")()
        for key, text in texts.items():
            made.put(key, self.jpype.JString(text))
        return made


def texts_of(key_values: Any) -> dict[str, str]:
    """What a KeyValue holds; of null nothing."""
    if key_values is None:
        return {}
    return {str(key): str(text) for key in key_values.keySet() if (text := key_values.getString(key)) is not None}


@cache
def _api(library: Path) -> Any:
    import jpype

    jars = sorted(library.glob("*.jar"))
    if not jars:
        msg = f"{library} has no jars of RocketMQ Connect: run `rocketconnect plugins install` for the plugin again"
        raise PermanentError(msg)
    return _loader_of(jars, jpype.JClass("java.lang.ClassLoader").getPlatformClassLoader())


def _loader_of(jars: list[Path], parent: Any) -> Any:
    import jpype

    file, url = jpype.JClass("java.io.File"), jpype.JClass("java.net.URL")
    urls = [file(str(jar)).toURI().toURL() for jar in jars]
    return jpype.JClass("java.net.URLClassLoader")(jpype.JArray(url)(urls), parent)
