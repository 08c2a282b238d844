"""Connectors of installed packages, sound and broken."""

import os
import subprocess
import sys
from pathlib import Path

SOUND = '''
from rocketconnect_sdk import Plan, RecordSink

class Nowhere(RecordSink):
    """Writes nowhere."""
    name = "nowhere_sink"
    aliases = ("org.example.Nowhere",)
    def open(self, config, task, context):
        raise NotImplementedError
'''


LONG = """Writes nowhere.

    What it gets
    is gone.

    Really.
    """


CONVERTER = '''
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.options import Kind, Option

class Reversed(Converter):
    """Texts from their end to their beginning."""
    name = "reversed"
    options = (Option("loud", "In capitals.", Kind.BOOL, "false"),)
    def encode(self, value, schema):
        return str(value)[::-1].encode()
    def decode(self, data):
        return data.decode()[::-1], None
'''


TRANSFORM = '''
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.transforms import Predicate, Transform

class Backwards(Transform):
    """Turns texts round."""
    name = "backwards"
    aliases = ("org.example.Backwards",)
    options = (Option("mark", "Put behind it.", default=""),)
    def apply(self, record):
        record.value = str(record.value)[::-1] + self.config["mark"]
        return record

class Short(Predicate):
    """Chooses short texts."""
    name = "brief"
    def test(self, record):
        return len(str(record.value)) < 5
'''


def run(directory: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def install(directory: Path, entry_points: str, group: str = "connectors") -> None:
    info = directory / "nowhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nowhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rocketconnect.{group}]\n{entry_points}\n")
    (directory / "nowhere.py").write_text(SOUND + CONVERTER + TRANSFORM)


def test_a_connector_of_an_installed_package_is_found_by_name_and_alias(tmp_path: Path) -> None:
    install(tmp_path, "nowhere_sink = nowhere:Nowhere")
    code = "from rocketconnect_sdk.plugins.loader import find; print(find('nowhere_sink').name, find('org.example.Nowhere').name)"
    assert run(tmp_path, code) == "nowhere_sink nowhere_sink"


def test_a_connector_has_the_version_of_its_package_and_says_what_its_own_docstring_says(tmp_path: Path) -> None:
    install(tmp_path, "nowhere_sink = nowhere:Nowhere\nsilent_sink = silent:Silent")
    (tmp_path / "nowhere.py").write_text(SOUND.replace("Writes nowhere.", LONG))
    silent = SOUND.replace('    """Writes nowhere."""\n', "").replace("nowhere_sink", "silent_sink").replace("Nowhere", "Silent")
    (tmp_path / "silent.py").write_text(silent)
    code = """
from rocketconnect_sdk.plugins.loader import plugins
for plugin in plugins():
    if plugin.name in ("nowhere_sink", "silent_sink", "stdout"):
        print((plugin.package.name, plugin.package.version == "1.0", plugin.summary, plugin.documentation))
"""
    spoken, silent, own = run(tmp_path, code).splitlines()
    assert spoken == str(("nowhere", True, "Writes nowhere.", "What it gets is gone.\n\nReally."))
    assert silent == str(("nowhere", True, "", ""))
    assert own.startswith("('rocketconnect', False, 'Prints")


def test_a_broken_package_says_why_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "taken.py").write_text(SOUND.replace("nowhere_sink", "json"))
    places = ["gone_sink = gone:Gone", "odd_sink = nowhere:SOUND", "wrong_sink = os:path", "taken_sink = taken:Nowhere"]
    install(tmp_path, "\n".join([*places, "nowhere_sink = nowhere:Nowhere"]))
    code = """
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.plugins.loader import plugins
print([plugin.name for plugin in plugins() if plugin.type.is_connector])
for name in ("gone_sink", "odd_sink", "wrong_sink", "taken_sink"):
    print(check_connector({"connector.class": name}).problems[0])
"""
    names, gone, odd, wrong, taken = run(tmp_path, code).splitlines()
    assert "'file_source', " in names
    assert "'nowhere_sink'" in names
    assert not any(broken in names for broken in ("gone_sink", "odd_sink", "wrong_sink", "taken_sink"))
    assert "could not be loaded: ModuleNotFoundError: No module named 'gone'" in gone
    assert "could not be loaded: AttributeError" in odd
    assert "is neither a Source nor a Sink" in wrong
    assert "'json' is the name of a plugin that comes with RocketConnect" in taken


def test_a_converter_of_an_installed_package_is_found_described_and_checked(tmp_path: Path) -> None:
    install(tmp_path, "reversed = nowhere:Reversed", "converters")
    code = """
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.plugins.loader import find, plugins
print(converter("reversed", {}, is_key=False).encode("abc", None))
print([(plugin.package.version, plugin.summary, plugin.options[0].key) for plugin in plugins() if plugin.name == "reversed"])
config = {"connector.class": "file_lines", "topics": "t", "filename": "/tmp/of-no-test", "value.converter": "reversed"}
print(check_connector(config).problems)
print(check_connector({**config, "value.converter.loud": "maybe"}).problems[0])
print(check_connector({"connector.class": "reversed"}).problems[0])
"""
    encoded, told, right, wrong, misplaced = run(tmp_path, code).splitlines()
    assert encoded == "b'cba'"
    assert told == "[('1.0', 'Texts from their end to their beginning.', 'loud')]"
    assert right == "[]"
    assert "value.converter.loud" in wrong
    assert "is a converter, not a connector" in misplaced


def test_a_broken_converter_says_why_and_hides_no_other(tmp_path: Path) -> None:
    places = [
        "gone = gone:Gone",
        "odd = os:path",
        "other = nowhere:Reversed",
        "json = nowhere:Reversed",
        "reversed = nowhere:Reversed",
    ]
    install(tmp_path, "\n".join(places), "converters")
    code = """
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.plugins.loader import PluginType, catalogue, plugins
print(sorted(catalogue().broken), {plugin.name for plugin in plugins()} >= {"reversed", "json", "file_source"})
config = {"connector.class": "file_lines", "topics": "t", "filename": "/tmp/of-no-test"}
for name in ("gone", "odd", "other"):
    print(check_connector({**config, "value.converter": name}).problems[0])
print(check_connector({**config, "value.converter.schemas.enable": "false", "value.converter": "json"}).problems)
"""
    broken, gone, odd, other, built_in = run(tmp_path, code).splitlines()
    assert broken == "['gone', 'odd', 'other'] True"
    assert "could not be loaded: ModuleNotFoundError: No module named 'gone'" in gone
    assert "is no Converter" in odd
    assert "the converter is called 'reversed', and its entry point 'other'" in other
    assert built_in == "[]"


def test_a_transform_and_a_predicate_of_an_installed_package_are_found_described_and_used(tmp_path: Path) -> None:
    install(tmp_path, "backwards = nowhere:Backwards\n\n[rocketconnect.predicates]\nbrief = nowhere:Short", "transforms")
    code = """
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.plugins.loader import plugins
from rocketconnect_sdk.transforms import Records
from rocketconnect_sdk.transforms.chain import make
names = ("backwards", "brief")
print([(plugin.name, plugin.type.value, plugin.package.version, plugin.summary) for plugin in plugins() if plugin.name in names])
raw = {"transforms": "b", "transforms.b.type": "backwards", "transforms.b.mark": "!", "transforms.b.predicate": "s"}
raw |= {"predicates": "s", "predicates.s.type": "brief"}
print(list(make(raw).run(Records(["abc", "longer"], [0, 1], "t")).runs[0].values))
config = {"connector.class": "file_lines", "topics": "t", "filename": "/tmp/of-no-test", **raw}
print(check_connector(config).problems, check_connector({**config, "transforms.b.mrk": "x"}).problems[0].key)
print(check_connector({"connector.class": "org.example.Backwards"}).problems[0])
"""
    told, changed, checked, misplaced = run(tmp_path, code).splitlines()
    assert told == (
        "[('backwards', 'TRANSFORM', '1.0', 'Turns texts round.'), ('brief', 'PREDICATE', '1.0', 'Chooses short texts.')]"
    )
    assert changed == "['cba!', 'longer']"
    assert checked == "[] transforms.b.mrk"
    assert "is a transform, not a connector" in misplaced


def test_a_broken_transform_says_why_and_hides_no_other(tmp_path: Path) -> None:
    places = [
        "gone = gone:Gone",
        "odd = os:path",
        "other = nowhere:Backwards",
        "json = nowhere:Backwards",
        "backwards = nowhere:Backwards",
    ]
    install(tmp_path, "\n".join(places), "transforms")
    code = """
from rocketconnect_sdk.plugins.loader import catalogue, plugins
print(catalogue().broken)
print({plugin.name for plugin in plugins()} >= {"backwards", "filter", "json", "file_source"})
"""
    broken, others = run(tmp_path, code).splitlines()
    assert "No module named 'gone'" in broken
    assert "is no Transform" in broken
    assert "it is called 'backwards', and its entry point 'other'" in broken
    assert "'json (rocketconnect.transforms)': \"'json' is the name of a plugin that comes with RocketConnect" in broken
    assert others == "True"


def test_a_connector_of_ours_is_found_without_a_look_at_any_other() -> None:
    script = """
import sys
from pkgutil import iter_modules
import connectors
from rocketconnect_sdk.plugins import loader

def loaded():
    return {name.split(".")[1] for name in sys.modules if name.startswith("connectors.")}

assert loader.find("file_lines").name == "file_lines"
assert loaded() & {"jdbc_sink", "delta_sink", "file_source"} == set(), loaded()
rooms = [module.name for module in iter_modules(connectors.__path__)]
inner = [(room, module.name) for room in rooms for module in iter_modules([connectors.__path__[0] + "/" + room])]
names = [name for name in rooms if name.endswith(("_sink", "_source"))]
# That of the lakes is what their sinks have in common.
# Some have names of their own.
own = {("http", "webhook_source"): "webhook_source", ("sftp", "ftp_source"): "ftp_source"}
own |= {("amqp", name): name for name in ("jms_sink", "jms_source")}
own |= {("logs", name): name for name in ("journald_source", "log_source", "syslog_source")}
names += [own.get(pair, "_".join(pair)) for pair in inner if pair[1].endswith(("sink", "source")) and pair[0] != "lakes"]
found = [loader.find(name).name for name in names]
assert loader.catalogue.cache_info().currsize == 0, "each is in the module of its name, or in the room of its system"
assert {*found, "file_lines", "stdout"} == set(loader.catalogue().connectors)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_transform_of_ours_is_found_without_a_look_at_any_other() -> None:
    script = """
import sys
from pkgutil import walk_packages
from rocketconnect_sdk.transforms import built_in, built_in_transforms, transform_class

names = [module.name for module in walk_packages(built_in.__path__, built_in.__name__ + ".") if not module.ispkg]
assert transform_class("cast")[0].name == "cast"
assert sorted(name for name in names if name in sys.modules) == [name for name in names if name.endswith(".cast")]
assert {transform_class(name.rpartition(".")[2])[0].name for name in names} == set(built_in_transforms())
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
