"""Makes a topic of RocketMQ where it is not there, and writes the lines TAG<tab>KEY<tab>VALUE of its input to it."""

import sys

from rocketmq_remoting import Client, Message

server, topic = sys.argv[1:]
with Client(server) as client:
    client.create_topic(topic, queues=2, keep=True)
    first, *_ = client.queues(topic)
    for line in sys.stdin:
        tag, key, value = line.rstrip("\n").split("\t")
        client.send(first, Message(value.encode(), tags=tag, keys=key))
