"""A source that came with a later version."""

from collections.abc import Mapping

from rocketconnect_sdk import Config, Plan, Position, Source, SourceBatch, SourceTask, TaskContext


class WeatherSource(Source):
    """Gives one text."""

    name = "weather_source"

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "WeatherSourceTask":
        return WeatherSourceTask()


class WeatherSourceTask(SourceTask):
    def start(self, positions: Mapping[str, Position]) -> None:
        self._done = "sky" in positions

    def poll(self) -> SourceBatch | None:
        if self._done:
            return None
        self._done = True
        return SourceBatch("sky", ["blue"], [(1,)])

    def close(self) -> None:
        pass
