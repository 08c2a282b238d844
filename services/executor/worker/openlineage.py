"""Sends events of OpenLineage over HTTP, by its own client, in a thread of its own."""

import contextlib
import queue
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import prometheus_client

from rocketconnect_kit.logs import get_logger
from rocketconnect_sdk.version import __version__
from services.executor.worker.lineage import RunEvent

EVENTS = prometheus_client.Counter(
    "rocketconnect_lineage_events",
    "Events of OpenLineage by what became of them: sent, refused by who takes them, or dropped as more waited than are kept.",
    ["outcome"],
)
MOST = 1000
"""Events that wait while the endpoint is away."""
_PRODUCER = "https://github.com/rocketconnect/rocketconnect"
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_CALL_SECONDS = 5.0
_LAST_SECONDS = 2.0
_ERROR_CHARACTERS = 4_000

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where events go.

    Attributes:
        url: "http://host:port"; the client adds api/v1/lineage.
        namespace: Of the jobs.
        token_file: Holds the token that is shown as Authorization: Bearer; None: none is.
    """

    url: str
    namespace: str
    token_file: Path | None = None


class OpenLineageSender:
    """Takes events from any thread and never blocks: one that finds no room is dropped, counted and told in the log.

    Args:
        endpoint: Where they go. OSError: its file of the token can't be read.
        most: How many may wait.
    """

    def __init__(self, endpoint: Endpoint, most: int = MOST) -> None:
        self._endpoint = endpoint
        self._waiting: queue.Queue[RunEvent | None] = queue.Queue(most)
        self._dropped = 0
        self._closing = threading.Event()
        token = None if endpoint.token_file is None else endpoint.token_file.read_text(encoding="utf-8").strip()
        self._thread = threading.Thread(target=self._run, args=(token,), name="openlineage", daemon=True)
        self._thread.start()

    def send(self, event: RunEvent) -> None:
        """See Sender."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            EVENTS.labels("dropped").inc()
            self._dropped += 1

    def close(self) -> None:
        """Send what waits, for a moment at most; what is left then is dropped."""
        self._closing.set()
        # Where there is no room it ends with this process.
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(_LAST_SECONDS)

    def _run(self, token: str | None) -> None:
        from openlineage.client import OpenLineageClient
        from openlineage.client.transport.http import HttpConfig, HttpTransport

        # It is tried again here, where that holds nothing up and ends with this process.
        told: dict[str, Any] = {"url": self._endpoint.url, "timeout": _CALL_SECONDS, "retry": {"total": 0}}
        if token is not None:
            told["auth"] = {"type": "api_key", "apiKey": token}
        client = OpenLineageClient(transport=HttpTransport(HttpConfig.from_dict(told)))
        while (event := self._waiting.get()) is not None:
            self._deliver(client, event)

    def _deliver(self, client: Any, event: RunEvent) -> None:
        """Sends an event until it is taken or refused, or there is no time left."""
        made, pause, is_away = _event(event, self._endpoint.namespace), _FIRST_PAUSE, False
        while True:
            try:
                client.emit(made)
            except Exception as error:  # what its client raises is of the library that it sends by
                cause, status = str(error), getattr(getattr(error, "response", None), "status_code", None)
                if status is not None and status < 500:
                    EVENTS.labels("refused").inc()
                    return _log.warning("an event of OpenLineage was refused", cause=cause, connector=event.connector)
            else:
                EVENTS.labels("sent").inc()
                if is_away or self._dropped:
                    dropped, self._dropped = self._dropped, 0
                    _log.info("events of OpenLineage are taken again", dropped=dropped)
                return None
            if not is_away:
                _log.warning("events of OpenLineage are not taken; they wait", cause=cause, most=MOST)
            is_away = True
            if self._closing.wait(pause):
                return None
            pause = min(2 * pause, _LONGEST_PAUSE)


def _event(told: RunEvent, namespace: str) -> Any:
    """An event as the client has it."""
    from openlineage.client import event_v2 as v2
    from openlineage.client.facet_v2 import error_message_run, job_type_job, output_statistics_output_dataset, processing_engine_run

    v2.set_producer(_PRODUCER)
    facets: dict[str, Any] = {"processing_engine": processing_engine_run.ProcessingEngineRunFacet(__version__, "RocketConnect")}
    if told.error:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(told.error[:_ERROR_CHARACTERS], "PYTHON")
    kind = job_type_job.JobTypeJobFacet("STREAMING", "ROCKETCONNECT", "TASK")
    # How much of it went into which is known of one alone.
    is_one = len(told.datasets.outputs) == 1
    counted: dict[str, Any] = {
        "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(told.rows, told.size)
    }
    return v2.RunEvent(
        eventType=v2.RunState[told.type],
        eventTime=datetime.fromtimestamp(told.time, UTC).isoformat(),
        run=v2.Run(str(told.run_id), facets),
        job=v2.Job(namespace, f"{told.connector}.{told.task}", {"jobType": kind}),
        producer=_PRODUCER,
        inputs=[v2.InputDataset(each.namespace, each.name) for each in told.datasets.inputs],
        outputs=[
            v2.OutputDataset(each.namespace, each.name, outputFacets=counted if is_one else {}) for each in told.datasets.outputs
        ],
    )
