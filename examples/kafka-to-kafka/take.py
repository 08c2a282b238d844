"""Waits until a topic of Kafka has so many messages, and prints KEY<tab>VALUE of each, those of a partition in their order."""

import sys
import time

from confluent_kafka import Consumer, TopicPartition

servers, topic, count = sys.argv[1:]
# What a transaction writes is there when it is committed.
reader = Consumer({"bootstrap.servers": servers, "group.id": "of-an-example", "isolation.level": "read_committed"})
while not (partitions := reader.list_topics(topic, timeout=30).topics[topic].partitions):
    time.sleep(0.5)
reader.assign([TopicPartition(topic, number, 0) for number in partitions])
left = int(count)
while left:
    message = reader.poll(1.0)
    if message is not None and message.error() is None:
        value = message.value()
        sys.stdout.write(f"{message.key().decode()}\t{'(no value)' if value is None else value.decode()}\n")
        left -= 1
reader.close()
