"""A RocketMQ client over the remoting protocol that every RocketMQ 4.x and 5.x broker and name server speaks.

It knows nothing of connectors. Its core without I/O is `rocketmq_remoting.protocol`; errors, grouped by what to do, are
in `rocketmq_remoting.errors`.
"""

from rocketmq_remoting.admin import Admin
from rocketmq_remoting.alike import queue_alike
from rocketmq_remoting.batch import (
    BATCH_OVERHEAD_BYTES,
    MAX_BATCH_BYTES,
    MAX_BATCH_MESSAGES,
    DecodedBatch,
    EncodedBatch,
    encode_batch,
)
from rocketmq_remoting.client import BARRIER_TOPIC, Client
from rocketmq_remoting.connections.pending import Pending
from rocketmq_remoting.errors import (
    BrokerBusy,
    BrokerFailed,
    ClientClosed,
    ConnectionLost,
    DeadlinePassed,
    GroupNotFound,
    InvalidFilter,
    InvalidMessage,
    InvalidRequest,
    MessageTooLarge,
    NameServersUnavailable,
    NoPermission,
    NotConfirmed,
    NotSent,
    OutcomeUnknown,
    PermanentError,
    ProtocolError,
    QueueGap,
    RequestRejected,
    RequestTimeout,
    RetriableError,
    RocketMQError,
    TopicNotFound,
    Unauthenticated,
    Unsupported,
)
from rocketmq_remoting.message import PulledMessage
from rocketmq_remoting.model import (
    BrokerData,
    Compression,
    ConsumerStatus,
    Counted,
    GroupConnection,
    GroupConnections,
    GroupProgress,
    Message,
    MessageQueue,
    Permission,
    PullStatus,
    QueueData,
    QueueEnds,
    QueueProgress,
    SendReceipt,
    SqlFilter,
    TagFilter,
    TlsOptions,
    TopicConfig,
    TopicRoute,
)
from rocketmq_remoting.numbered import NumberedProperties
from rocketmq_remoting.protocol.properties import decode_properties, encode_properties
from rocketmq_remoting.pulls.pulled import PullResult
from rocketmq_remoting.pulls.stream import PullStream
from rocketmq_remoting.sending import encode_messages

PendingSend = Pending[SendReceipt]
PendingPull = Pending[PullResult]

__all__ = [
    "BARRIER_TOPIC",
    "BATCH_OVERHEAD_BYTES",
    "MAX_BATCH_BYTES",
    "MAX_BATCH_MESSAGES",
    "Admin",
    "BrokerBusy",
    "BrokerData",
    "BrokerFailed",
    "Client",
    "ClientClosed",
    "Compression",
    "ConnectionLost",
    "ConsumerStatus",
    "Counted",
    "DeadlinePassed",
    "DecodedBatch",
    "EncodedBatch",
    "GroupConnection",
    "GroupConnections",
    "GroupNotFound",
    "GroupProgress",
    "InvalidFilter",
    "InvalidMessage",
    "InvalidRequest",
    "Message",
    "MessageQueue",
    "MessageTooLarge",
    "NameServersUnavailable",
    "NoPermission",
    "NotConfirmed",
    "NotSent",
    "NumberedProperties",
    "OutcomeUnknown",
    "Pending",
    "PendingPull",
    "PendingSend",
    "PermanentError",
    "Permission",
    "ProtocolError",
    "PullResult",
    "PullStatus",
    "PullStream",
    "PulledMessage",
    "QueueData",
    "QueueEnds",
    "QueueGap",
    "QueueProgress",
    "RequestRejected",
    "RequestTimeout",
    "RetriableError",
    "RocketMQError",
    "SendReceipt",
    "SqlFilter",
    "TagFilter",
    "TlsOptions",
    "TopicConfig",
    "TopicNotFound",
    "TopicRoute",
    "Unauthenticated",
    "Unsupported",
    "decode_properties",
    "encode_batch",
    "encode_messages",
    "encode_properties",
    "queue_alike",
]
