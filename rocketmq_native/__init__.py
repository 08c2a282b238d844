"""Sends and push consumption by librocketmq, the C++ client in the wheel of rocketmq-client-python (extra `rocketmq-native`).

It is for programs that name that library. Offsets, batches and topics are `rocketmq_remoting`'s, whose `Message` and errors
these take and raise. Tasks of connectors do not use it: docs/rocketmq-clients.md says why.
"""

from rocketmq_native.consumer import PushConsumer
from rocketmq_native.producer import Producer, Sent
from rocketmq_native.received import Received, Unreadable

__all__ = ["Producer", "PushConsumer", "Received", "Sent", "Unreadable"]
