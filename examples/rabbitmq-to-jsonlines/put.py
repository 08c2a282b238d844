"""Publishes the lines of its input to the exchange amq.topic; returns when the server has confirmed them."""

import sys

import pika

url, routing_key = sys.argv[1:]
with pika.BlockingConnection(pika.URLParameters(url)) as connection:
    channel = connection.channel()
    channel.confirm_delivery()
    for line in sys.stdin:
        channel.basic_publish("amq.topic", routing_key, line.rstrip("\n"), pika.BasicProperties(delivery_mode=2))
