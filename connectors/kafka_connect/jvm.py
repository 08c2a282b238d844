"""The Java of this process, with the classes of Kafka Connect, and of plugins beside them.

There is one for all that runs here, and it never ends before the process does. Classes of a plugin are loaded by Kafka's own
PluginClassLoader: two plugins see nothing of each other. What a plugin without a connector has is there for all.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from connectors.java.machine import USUAL_HEAP, reason, started
from connectors.kafka_connect.class_names import candidates
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins.kafka import LIBRARY, JavaPlugin, installed


class Java:
    """A plugin in the Java of this process.

    Args:
        plugin: It.
        heap: Of Java, in bytes, where it is not yet started.
    """

    def __init__(self, plugin: JavaPlugin, heap: int = USUAL_HEAP) -> None:
        library = plugin.folder.parent / LIBRARY
        self.jpype = started(library, heap)
        shared = [each for each in installed(plugin.folder.parent) if not each.connectors]
        self._jars = [*plugin.jars, *library.glob("*.jar"), *(jar for each in shared for jar in each.jars)]
        self.loader = self._loader(plugin)
        self._shared = [self._loader(each) for each in shared]

    def enter(self) -> None:
        """What this thread calls from now on finds the classes of the plugin."""
        self.jpype.JClass("java.lang.Thread").currentThread().setContextClassLoader(self.loader)

    def load(self, name: str) -> Any:
        """A class of the plugin, or of one without a connector, by its full name. Raises PermanentError: there is none."""
        try:
            return self.jpype.JClass(self.loader.loadClass(name))
        except self.jpype.JException as error:
            for loader in self._shared:
                with suppress(self.jpype.JException):
                    return self.jpype.JClass(loader.loadClass(name))
            msg = f"there is no class {name} in the plugin: {reason(error)}"
            raise PermanentError(msg) from error

    def whole_names(self, given: str, interface: str) -> list[str]:
        """The classes of an interface that a name without a package stands for: one, if it is good."""
        kind, modifier = self.jpype.JClass(interface), self.jpype.JClass("java.lang.reflect.Modifier")
        found = []
        for name in candidates(given, interface.rpartition(".")[2], self._jars):
            # Who looks for a name meets classes that can't be loaded, and of other kinds.
            with suppress(PermanentError, self.jpype.JException):
                loaded = self.load(name)
                if issubclass(loaded, kind) and not modifier.isAbstract(loaded.class_.getModifiers()):
                    found.append(name)
        return found

    def new(self, name: str) -> Any:
        """An object of a class with a constructor that takes nothing."""
        return self.load(name)()

    def new_of_kafka(self, name: str) -> Any:
        """An object of a class of Kafka Connect itself, also where the plugin brings one of that name."""
        return self.jpype.JClass(self.jpype.JClass("java.lang.ClassLoader").getSystemClassLoader().loadClass(name))()

    def strings(self, texts: Mapping[str, str]) -> Any:
        """A Map of strings."""
        made = self.jpype.JClass("java.util.HashMap")()
        for key, text in texts.items():
            made.put(key, text)
        return made

    def _loader(self, plugin: JavaPlugin) -> Any:
        file, url = self.jpype.JClass("java.io.File"), self.jpype.JClass("java.net.URL")
        jars = [file(str(jar)).toURI().toURL() for jar in plugin.jars]
        system = self.jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
        loader = self.jpype.JClass("org.apache.kafka.connect.runtime.isolation.PluginClassLoader")
        return loader(jars[0], self.jpype.JArray(url)(jars), system)

    def proxy(self, interface: str, methods: Mapping[str, Any]) -> Any:
        """An object of an interface whose methods are functions of ours: all that it declares have to be there."""
        return self.jpype.JProxy(interface, dict=methods)


@cache
def plain_converter() -> Any:
    """Kafka's JsonConverter without schemas: of offsets."""
    import jpype

    made = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
    made.configure(jpype.JClass("java.util.Map").of("schemas.enable", "false"), False)
    return made


def to_json(value: Any) -> Any:
    """A value of Java without a schema as JSON knows it."""
    data = plain_converter().fromConnectData("", None, value)
    return None if data is None else json.loads(bytes(data))


def to_java(value: Any) -> Any:
    """JSON as a value of Java, as Kafka's own store of offsets gives it: whole numbers are Long."""
    return plain_converter().toConnectData("", json.dumps(value).encode()).value()
