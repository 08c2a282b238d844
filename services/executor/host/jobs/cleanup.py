"""What the plugins of a deleted connector do to clean up behind it, in a process that was made for it."""

import traceback
from collections.abc import Iterator, Mapping

from rocketconnect_sdk.configuration.connector_options import parse_direct, parse_sink, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS, SINK_CLASS, SOURCE_CLASS
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source
from services.executor.contract import answers
from services.executor.secrets.resolving import hide, resolve


def clean_up(config: Mapping[str, str], connector_uid: str) -> answers.CleanedUp | answers.CleanUpFailed:
    """Call what the plugins have for it: of a source and a sink in one also the second when the first one fails."""
    try:
        called = [_called(plugin, parsed, connector_uid) for plugin, parsed in _plugins(config)]
    except ConnectorError as error:
        return answers.CleanUpFailed(hide(str(error)), permanent=False)
    except Exception as error:
        return _defect(error)
    failures = [answer for answer in called if answer is not None]
    if not failures:
        return answers.CleanedUp(called=bool(called))
    # As long as one of them may still succeed, both are called again.
    return answers.CleanUpFailed("; ".join(each.error for each in failures), all(each.permanent for each in failures))


def _called(plugin: Source | Sink, parsed: Config, connector_uid: str) -> answers.CleanUpFailed | None:
    try:
        plugin.deleted(resolve(parsed), connector_uid)
    except ConnectorError as error:
        # Also a reference to a secret that only another executor knows.
        return answers.CleanUpFailed(hide(str(error)), permanent=isinstance(error, PermanentError))
    except Exception as error:
        return _defect(error)
    return None


def _defect(error: Exception) -> answers.CleanUpFailed:
    traceback.print_exc()
    told = f"a defect of the plugin: {type(error).__name__}: {error}; the executor's log has the traceback"
    return answers.CleanUpFailed(hide(told), permanent=False)


def _plugins(config: Mapping[str, str]) -> Iterator[tuple[Source | Sink, Config]]:
    """Yield the plugins that leave something behind. The configuration of others may be wrong by now: they are not asked."""
    name = config.get(CLASS.key, "")
    if name == loader.DIRECT:
        own, source_config, sink_config = parse_direct(config)
        for key, parsed in ((SOURCE_CLASS.key, source_config), (SINK_CLASS.key, sink_config)):
            if _leaves_something(plugin := loader.find(own[key])):
                yield plugin, parsed
    elif _leaves_something(plugin := loader.find(name)):
        yield plugin, parse_source(plugin, config) if isinstance(plugin, Source) else parse_sink(plugin, config)


def _leaves_something(plugin: Source | Sink) -> bool:
    return type(plugin).deleted not in (Source.deleted, Sink.deleted)
