"""Makes a queue where it is not there, takes so many messages of it, and prints each behind its header `order`."""

import sys
from itertools import islice

import pika

url, queue, count = sys.argv[1:]
with pika.BlockingConnection(pika.URLParameters(url)) as connection:
    channel = connection.channel()
    channel.queue_declare(queue, durable=True)
    for method, properties, body in islice(channel.consume(queue), int(count)):
        sys.stdout.write(f"{properties.headers['order']} {body.decode()}\n")
        channel.basic_ack(method.delivery_tag)
