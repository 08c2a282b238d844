"""What a source could not read, as somebody has corrected it: read, transformed and converted as the source does. Nothing is sent.

Runs in a process of its own, which ends with the answer.
"""

import traceback
from contextlib import ExitStack

from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.transforms.chain import make
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.contract import answers, questions
from services.executor.host.jobs.sources.sending import EncodedMessage, target_of, written
from services.executor.runtime.transforms import of_source
from services.executor.secrets.resolving import hide, resolve


def read_again(order: questions.ReadAgain) -> answers.MadeAgain:
    """Make the message, or say what the source fails at, or why nobody can know."""
    try:
        with ExitStack() as held:
            return _made(order, held)
    except ConnectorError as error:
        return answers.MadeAgain(trouble=hide(str(error)))
    except Exception:
        return answers.MadeAgain(trouble=hide(f"a defect of the plugin: {traceback.format_exc()}"))


def _made(order: questions.ReadAgain, held: ExitStack) -> answers.MadeAgain:
    plugin = find(order.config[CLASS.key].strip())
    if not isinstance(plugin, Source):
        return answers.MadeAgain(is_read=False)
    config = resolve(parse_source(plugin, order.config))
    batch = plugin.read_again(config, order.partition, order.original)
    if batch is None:
        return answers.MadeAgain(is_read=False)
    if len(batch) != 1:
        held_by = counted(batch, "record") if len(batch) else "no record"
        return answers.MadeAgain(problem=f"poll: it holds {held_by}, and stands in the place of one")
    if isinstance(value := batch.values[0], Rejected):
        return answers.MadeAgain(problem=hide(f"poll: {value.error}: {value.reason}"))
    chain = make(config.raw)
    held.callback(chain.close)
    made = [each for each in of_source(chain, batch, config["topic"]) if len(each)]
    if len(made) != 1 or len(made[0]) != 1:
        became = counted(sum(map(len, made)), "record") if made else "nothing: they leave it out"
        return answers.MadeAgain(problem=f"transform: the transforms make {became}")
    return _answer(written(made[0], target_of(plugin, config)))


def _answer(message: EncodedMessage) -> answers.MadeAgain:
    if (failure := message.failure) is not None:
        return answers.MadeAgain(problem=hide(f"{failure.stage.value}: {failure.error}: {failure.message}"))
    return answers.MadeAgain(message.body, decode_properties(message.properties), message.topic)
