"""Makes topics of RocketMQ where they are not there, and writes the lines TAG<tab>KEY<tab>VALUE of its input to the first one."""

import sys

from rocketmq_remoting import Client, Message

server, topic, *others = sys.argv[1:]
with Client(server) as client:
    for name in (topic, *others):
        client.create_topic(name, queues=2, attributes={"message.type": "NORMAL"}, keep=True)
    first, *_ = client.queues(topic)
    for line in sys.stdin:
        tag, key, value = line.rstrip("\n").split("\t")
        client.send(first, Message(value.encode(), tags=tag, keys=key))
