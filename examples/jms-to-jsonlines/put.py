"""Sends the lines of its input to the queue `orders`, with a region; returns when the broker has accepted them."""

import json
import sys

from proton import Message
from proton.utils import BlockingConnection
from queue_of import Queue

url, region = sys.argv[1:]
connection = BlockingConnection(url, allowed_mechs="ANONYMOUS")
sender = connection.create_sender("orders", options=Queue())
for line in sys.stdin:
    number = str(json.loads(line)["order"])
    sender.send(Message(line.rstrip("\n"), durable=True, correlation_id=number, properties={"region": region}))
connection.close()
