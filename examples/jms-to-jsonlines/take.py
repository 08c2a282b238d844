"""Takes so many messages of a queue, and prints each behind its correlation id."""

import json
import sys

from proton.utils import BlockingConnection
from queue_of import Queue

url, queue, count = sys.argv[1:]
connection = BlockingConnection(url, allowed_mechs="ANONYMOUS")
receiver = connection.create_receiver(queue, credit=int(count), options=Queue())
for _ in range(int(count)):
    message = receiver.receive()
    receiver.accept()
    sys.stdout.write(f"{message.correlation_id} {json.dumps(message.body, sort_keys=True)}\n")
connection.close()
