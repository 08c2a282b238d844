"""librocketmq and its functions.

What reads its texts here is not in its C interface: that ends each at its first zero byte. They are texts of libstdc++, which tells
how long they are, and methods of C++ that the library exports. So it has to be the build that was tried, and a look at the start
says whether it is.
"""

from __future__ import annotations

import ctypes
import logging
from ctypes import POINTER, c_char, c_char_p, c_int, c_longlong, c_size_t, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocketmq_remoting.errors import InvalidRequest, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

INSTALL = "install the extra rocketmq-native (Linux on x86-64): pip install 'rocketconnect[rocketmq-native]'"
LOGS = "~/logs/rocketmq-cpp"
"""Where the library writes its log, and nowhere else."""
OK = 0
_FILE = "librocketmq.so"
WARNINGS = 3
"""The level of logs that has warnings and errors."""
_PROBE = b"\0a\0b"
_SIZE = "_ZNKSs4sizeEv"
"""std::string::size() of the older texts."""
_SET_TERMINATE = "_ZSt13set_terminatePFvvE"
_FLAGS = "_ZNK8rocketmq9MQMessage10getSysFlagEv"
_CHECKSUM = "_ZNK8rocketmq12MQMessageExt10getBodyCRCEv"

SELECTOR = ctypes.CFUNCTYPE(c_int, c_int, c_void_p, c_void_p)
"""Gives the index of a queue, of how many there are, the message and the argument of the send."""
RECEIVER = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
"""Takes the consumer and a message; gives 0: it is done, 1: it is to come again."""


_ENDING = ctypes.CFUNCTYPE(None)
_log = logging.getLogger(__name__)


class SendResult(ctypes.Structure):
    """What a send is answered with."""

    _fields_ = (("status", c_int), ("message_id", c_char * 256), ("offset", c_longlong))


def _texts(*names: str) -> dict[str, tuple[Any, Sequence[Any]]]:
    return dict.fromkeys(names, (c_void_p, (c_void_p,)))


_FUNCTIONS: Mapping[str, tuple[Any, Sequence[Any]]] = {
    "CreateMessage": (c_void_p, (c_char_p,)),
    "DestroyMessage": (c_int, (c_void_p,)),
    "SetMessageKeys": (c_int, (c_void_p, c_char_p)),
    "SetMessageTags": (c_int, (c_void_p, c_char_p)),
    "SetByteMessageBody": (c_int, (c_void_p, c_char_p, c_int)),
    "SetMessageProperty": (c_int, (c_void_p, c_char_p, c_char_p)),
    **_texts("GetOriginMessageBody", "GetMessageTopic", "GetMessageTags", "GetMessageKeys", "GetMessageBody", "GetMessageId"),
    "GetMessageProperty": (c_void_p, (c_void_p, c_char_p)),
    "GetMessageQueueId": (c_int, (c_void_p,)),
    "GetMessageReconsumeTimes": (c_int, (c_void_p,)),
    "GetMessageBornTimestamp": (c_longlong, (c_void_p,)),
    "GetMessageStoreTimestamp": (c_longlong, (c_void_p,)),
    "GetMessageQueueOffset": (c_longlong, (c_void_p,)),
    "GetLatestErrorMessage": (c_char_p, ()),
    "CreateProducer": (c_void_p, (c_char_p,)),
    "SetProducerNameServerAddress": (c_int, (c_void_p, c_char_p)),
    "SetProducerInstanceName": (c_int, (c_void_p, c_char_p)),
    "SetProducerSessionCredentials": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p)),
    "SetProducerSendMsgTimeout": (c_int, (c_void_p, c_int)),
    "SetProducerMaxMessageSize": (c_int, (c_void_p, c_int)),
    "SetProducerLogLevel": (c_int, (c_void_p, c_int)),
    "StartProducer": (c_int, (c_void_p,)),
    "ShutdownProducer": (c_int, (c_void_p,)),
    "SendMessageOrderly": (c_int, (c_void_p, c_void_p, SELECTOR, c_void_p, c_int, POINTER(SendResult))),
    "CreatePushConsumer": (c_void_p, (c_char_p,)),
    "SetPushConsumerNameServerAddress": (c_int, (c_void_p, c_char_p)),
    "SetPushConsumerInstanceName": (c_int, (c_void_p, c_char_p)),
    "SetPushConsumerSessionCredentials": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p)),
    "SetPushConsumerThreadCount": (c_int, (c_void_p, c_int)),
    "SetPushConsumerLogLevel": (c_int, (c_void_p, c_int)),
    "Subscribe": (c_int, (c_void_p, c_char_p, c_char_p)),
    "RegisterMessageCallback": (c_int, (c_void_p, RECEIVER)),
    "RegisterMessageCallbackOrderly": (c_int, (c_void_p, RECEIVER)),
    "StartPushConsumer": (c_int, (c_void_p,)),
    "ShutdownPushConsumer": (c_int, (c_void_p,)),
    _FLAGS: (c_int, (c_void_p,)),
    _CHECKSUM: (c_int, (c_void_p,)),
}


class Library:
    """The library, loaded. Its functions are called by their names in C; safe for concurrent use.

    Args:
        path: Of librocketmq.so.

    Raises:
        Unsupported: it can't be loaded, or is of another build than the one that was tried.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._functions = ctypes.CDLL(str(path))
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(self._functions, name)
                function.restype, function.argtypes = result, arguments
            standard = ctypes.CDLL("libstdc++.so.6")
            self._size, self._set_terminate = getattr(standard, _SIZE), getattr(standard, _SET_TERMINATE)
        except (OSError, AttributeError) as error:
            msg = f"{path} can't be used: {error}; {INSTALL}"
            raise Unsupported(msg) from error
        self._size.restype, self._size.argtypes = c_size_t, (c_void_p,)
        self._set_terminate.restype, self._set_terminate.argtypes = _ENDING, (_ENDING,)
        self._ending = _ENDING(self._tell)
        self._ended: Callable[[], None] | None = None
        self._probe(path)

    def __getattr__(self, name: str) -> Any:
        """A function of C."""
        return getattr(self._functions, name)

    def text(self, pointer: int | None) -> bytes:
        """A text of the library, with the zero bytes in it; the library's own pointer to it."""
        if not pointer:
            return b""
        # The older text of libstdc++ is nothing but this pointer.
        text = c_void_p(pointer)
        return ctypes.string_at(pointer, self._size(ctypes.byref(text)))

    def flags(self, message: int) -> int:
        """The system flag of a message that was received."""
        return int(getattr(self, _FLAGS)(message))

    def checksum(self, message: int) -> int:
        """The broker's checksum of the stored body of a message that was received."""
        return int(getattr(self, _CHECKSUM)(message))

    def fault(self) -> str:
        """What it says of its last fault."""
        return (self.GetLatestErrorMessage() or b"").decode(errors="replace").strip() or "it says nothing"

    def tell_of_the_end(self) -> None:
        """Says in the log why, where C++ ends this process: what the library can't unpack it takes for a fault of the program."""
        if self._ended is None:
            self._ended = self._set_terminate(self._ending)

    def _tell(self) -> None:
        _log.critical(
            "an error of C++ ends this process. Where a consumer of librocketmq ran, it was given a message whose body is "
            "compressed with LZ4 or Zstandard, and it knows zlib alone. The message is not done: read the topic with "
            "rocketmq_remoting"
        )
        if self._ended is not None:
            self._ended()

    def _probe(self, path: Path) -> None:
        message = self.CreateMessage(b"probe")
        self.SetByteMessageBody(message, _PROBE, len(_PROBE))
        found = self.text(self.GetOriginMessageBody(message))
        self.DestroyMessage(message)
        if found != _PROBE:
            msg = f"{path} is another build than the one of rocketmq-client-python 0.5.0rc2, and would cut bodies: {INSTALL}"
            raise Unsupported(msg)


@cache
def library() -> Library:
    """The one of this process.

    Raises:
        Unsupported: it is not there, or can't be used.
    """
    # Not imported: its own module asks the compiler and the linker for a library first, and cuts bodies.
    spec = find_spec("rocketmq")
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec is not None else None
    if folder is None or not (path := Path(folder, _FILE)).exists():
        msg = f"rocketmq-client-python is not there: {INSTALL}"
        raise Unsupported(msg)
    return Library(path)


def text_of_c(what: str, text: str) -> bytes:
    """A text as the library takes it.

    Raises:
        InvalidRequest: it has a zero byte, at which the library would cut it.
    """
    if "\0" in text:
        msg = f"{what} {text!r} has a zero byte, at which librocketmq would cut it"
        raise InvalidRequest(msg)
    return text.encode()


def addresses(name_servers: Sequence[str] | str) -> bytes:
    """Name servers as the library takes them."""
    return text_of_c("the name server", name_servers if isinstance(name_servers, str) else ";".join(name_servers))
