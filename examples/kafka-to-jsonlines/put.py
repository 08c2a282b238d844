"""Makes a topic of Kafka where it is not there, and writes the lines KEY<tab>VALUE of its input to it."""

import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

servers, topic = sys.argv[1:]
admin = AdminClient({"bootstrap.servers": servers})
if topic not in admin.list_topics(timeout=30).topics:
    admin.create_topics([NewTopic(topic, num_partitions=3)])[topic].result()
producer = Producer({"bootstrap.servers": servers})
for line in sys.stdin:
    key, _, value = line.rstrip("\n").partition("\t")
    # Without a value: a tombstone.
    producer.produce(topic, value or None, key=key)
producer.flush()
