"""Pipelines that begin or end with messages, events and logs, whole: an instance with two executors, and servers, of which all are
killed one after the other while records are on their way.
"""

from pathlib import Path

import pytest

from rocketconnect_cli.instance.topology import SPARK_WARM
from tests.queue_pipelines.pipeline import Pipeline
from tests.queue_pipelines.pipelines.kafka import KafkaToKafka
from tests.queue_pipelines.pipelines.logs import LogsToOpenSearch
from tests.queue_pipelines.pipelines.mqtt import MqttToMqtt
from tests.queue_pipelines.pipelines.push import RedisToJava
from tests.queue_pipelines.pipelines.rabbitmq import RabbitmqToPostgres
from tests.queue_pipelines.pipelines.webhooks import WebhooksToOpenSearch
from tests.queue_pipelines.run import run

pytestmark = [pytest.mark.e2e, pytest.mark.rocketmq, pytest.mark.slow]


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param(KafkaToKafka, marks=pytest.mark.kafka),
        pytest.param(RabbitmqToPostgres, marks=pytest.mark.postgres),
        WebhooksToOpenSearch,
        LogsToOpenSearch,
        RedisToJava,
        MqttToMqtt,
    ],
)
def test_everything_that_was_promised_is_there_though_each_part_of_the_pipeline_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: type[Pipeline]
) -> None:
    # None of their sinks runs on Spark.
    monkeypatch.setenv(SPARK_WARM, "false")
    run(pipeline(tmp_path), tmp_path, print)
