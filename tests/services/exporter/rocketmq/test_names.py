"""The names and labels are those of RocketMQ exporter: its dashboard works unchanged."""

from pathlib import Path

from services.exporter.rocketmq import names

THEIRS = {
    name: labels.split(",")
    for name, _, labels in (
        line.partition("\t") for line in Path(__file__).with_name("rocketmq_exporter.tsv").read_text().splitlines()
    )
}
"""All metrics that RocketMQ exporter (of June 2025) has, by name, with their labels."""


def test_all_metrics_are_there_with_their_labels_or_it_is_said_why_not() -> None:
    assert len(THEIRS) == 89
    assert {name: list(named.labels) for name, named in names.ALL.items()} == {
        name: labels for name, labels in THEIRS.items() if name not in names.MISSING
    }


def test_what_is_missing_is_not_there() -> None:
    assert names.MISSING.keys() & names.ALL.keys() == set()
