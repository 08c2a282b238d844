"""What stands in the options of Protobuf schemas (confluent/meta.proto) for what Protobuf has no word for."""

CONNECT_TYPE, PRECISION, SCALE = "connect.type", "precision", "scale"
"""As Confluent's converter writes them: int8 or int16, and of a decimal its digits and those behind the point."""

FIELD = "rocketconnect.field"
"""The name of a field that Protobuf does not allow."""
NAME, VERSION, PARAMETERS, DEFAULT = (f"rocketconnect.{word}" for word in ("name", "version", "parameters", "default"))
"""Of a schema; the parameters and the default as JSON."""
TYPE, UNIT = "rocketconnect.type", "rocketconnect.unit"
REQUIRED = "rocketconnect.required"
"""Of a field that is a message: it is always given."""
OPTIONAL = "rocketconnect.optional"
"""Of the message of a whole value: it may be null."""
WRAPPER = "rocketconnect.wrapper"
"""Of a message: it stands for its only field."""

UNNAMED = "ConnectDefault1"
"""The message of a struct without a name, as Confluent's converter calls it."""
VALUE, KEY, ENTRY = "value", "key", "Entry"
"""The field of a wrapper; with a key that of an entry of a map, whose message's name ends so."""
ENUM = "io.confluent.connect.protobuf.Enum"
"""A parameter of text that is an enum: its name; with a point and a symbol behind it the symbol's number."""

DECIMAL, DATE, TIME, TIMESTAMP = "confluent.type.Decimal", "google.type.Date", "google.type.TimeOfDay", "google.protobuf.Timestamp"
"""Messages that are a value each."""
