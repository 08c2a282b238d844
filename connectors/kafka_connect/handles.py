"""Loops that run inside of Java, made of method handles and the JDK's streams: there is no Java source, and no call for a record.

A call from Python into Java takes about 10 microseconds; a record that passes one of these takes about one.
"""

from typing import Any

CONVERTER = "org.apache.kafka.connect.storage.Converter"
_RECORD = "org.apache.kafka.connect.connector.ConnectRecord"
_SCHEMA = "org.apache.kafka.connect.data.Schema"


class Handles:
    """Makes them. The names are those of java.lang.invoke.MethodHandles."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._mh = jpype.JClass("java.lang.invoke.MethodHandles")
        self._look = self._mh.publicLookup()
        self._int, self._long, self._bool, self._void = (
            jpype.JClass(f"java.lang.{name}").TYPE for name in ("Integer", "Long", "Boolean", "Void")
        )
        self._bytes, self._rows, self._longs = (jpype.JClass("java.lang.Class").forName(name) for name in ("[B", "[[B", "[J"))
        self._object, self._string, self._map, self._record, self._schema = map(
            self._class, ("java.lang.Object", "java.lang.String", "java.util.Map", _RECORD, _SCHEMA)
        )
        self._out = self._class("java.io.DataOutputStream")
        self.not_null = self._as("java.util.function.Predicate", self._is(present=True), self._type(self._bool, self._object))
        self.to_list = jpype.JClass("java.util.stream.Collectors").toList()

    def by_partition(self, nothing: Any) -> Any:
        """A Collector: lists of records by source partition, `nothing` where a record has none."""
        source = self._class("org.apache.kafka.connect.source.SourceRecord")
        get = self._virtual(source, "sourcePartition", self._map)
        known = self._mh.filterReturnValue(get.asType(self._type(self._object, source)), self._or_else(nothing))
        collectors = self._jpype.JClass("java.util.stream.Collectors")
        return collectors.groupingBy(self._as("java.util.function.Function", known, self._type(self._object, self._object)))

    def step(self, apply: Any, test: Any, failed: Any, *, negate: bool) -> Any:
        """A Function: a transformation, for records that a predicate chooses.

        A record that it fails for goes on as it is, and into `failed`, from which on no step is applied to it.

        Args:
            apply: The Transformation.
            test: The Predicate; None: all records.
            failed: An IdentityHashMap of record to exception.
            negate: For those that the predicate does not choose.
        """
        transformation = self._class("org.apache.kafka.connect.transforms.Transformation")
        same = self._mh.identity(self._record)
        made = self._caught(self._virtual(transformation, "apply", self._record, self._record).bindTo(apply), failed, same)
        if test is not None:
            predicate = self._class("org.apache.kafka.connect.transforms.predicates.Predicate")
            chosen = self._virtual(predicate, "test", self._bool, self._record).bindTo(test)
            made = self._mh.guardWithTest(chosen, *((same, made) if negate else (made, same)))
        bad = self._virtual(self._map, "containsKey", self._bool, self._object).bindTo(failed)
        made = self._mh.guardWithTest(bad.asType(self._type(self._bool, self._record)), same, made)
        return self._as("java.util.function.Function", made, self._type(self._object, self._object))

    def writer(self, key: Any, value: Any, out: Any, failed: Any) -> Any:
        """A Consumer: writes key, value, topic, time and the number of headers of a record; see frames.records_of.

        A record that can't be converted goes into `failed`, and nothing of it is written; nor is anything of one that is there.

        Args:
            key: The Converter of keys.
            value: That of values.
            out: A DataOutputStream.
            failed: An IdentityHashMap of record to exception.
        """
        nullable = self._nullable(out)
        text = self._mh.filterReturnValue(
            self._get("topic", self._string).asType(self._type(self._object, self._record)), self._or_else("")
        )
        topic = self._filter(
            self._virtual(self._out, "writeUTF", self._void, self._string).bindTo(out),
            text.asType(self._type(self._string, self._record)),
        )
        boxed = self._mh.filterReturnValue(
            self._get("timestamp", self._class("java.lang.Long")).asType(self._type(self._object, self._record)),
            self._or_else(self._jpype.JClass("java.lang.Long")(-1)),
        )
        time = self._filter(
            self._virtual(self._out, "writeLong", self._void, self._long).bindTo(out),
            boxed.asType(self._type(self._long, self._record)),
        )
        headers = self._class("org.apache.kafka.connect.header.Headers")
        size = self._mh.filterReturnValue(self._get("headers", headers), self._virtual(headers, "size", self._int))
        count = self._filter(self._virtual(self._out, "writeInt", self._void, self._int).bindTo(out), size)
        rest = self._drop(self._in_order(topic, time, count), 0, self._bytes, self._bytes)
        body = self._in_order(
            self._drop(nullable, 1, self._bytes, self._record),
            self._drop(self._drop(nullable, 0, self._bytes), 2, self._record),
            rest,
        )
        converted = (self._converted(key, "keySchema", "key"), self._converted(value, "valueSchema", "value"))
        whole = self._permuted(self._filter(body, *converted), self._void, [self._record], [0, 0, 0])
        whole = self._caught(whole, failed, None)
        bad = self._virtual(self._map, "containsKey", self._bool, self._object).bindTo(failed)
        nothing = self._mh.empty(self._type(self._void, self._record))
        guarded = self._mh.guardWithTest(bad.asType(self._type(self._bool, self._record)), nothing, whole)
        return self._as("java.util.function.Consumer", guarded, self._type(self._void, self._object))

    def maker(self, topic: str, partition: int, key: Any, value: Any, columns: Any, failed: Any) -> Any:
        """An IntFunction: the SinkRecord of that index; null, and index to exception in `failed`, where it can't be read.

        Args:
            topic: Of all.
            partition: Of all.
            key: The Converter of keys.
            value: That of values.
            columns: keys and values, each an array of byte[], then offsets and times, each a long[].
            failed: A HashMap.
        """
        keys, values, offsets, times = columns
        record = self._class("org.apache.kafka.connect.sink.SinkRecord")
        both = self._class("org.apache.kafka.connect.data.SchemaAndValue")
        long, kind = self._class("java.lang.Long"), self._class("org.apache.kafka.common.record.TimestampType")
        args = (self._string, self._int, self._schema, self._object, self._schema, self._object, self._long, long, kind)
        make = self._look.findConstructor(record, self._type(self._void, *args))
        create_time = self._jpype.JClass("org.apache.kafka.common.record.TimestampType").CREATE_TIME
        make = self._insert(self._insert(make, 8, create_time), 0, topic, self._jpype.JClass("java.lang.Integer")(partition))
        schema, object_ = self._virtual(both, "schema", self._schema), self._virtual(both, "value", self._object)
        make = self._permuted(
            self._filter(make, schema, object_, schema, object_), record, [both, both, self._long, long], [0, 0, 1, 1, 2, 3]
        )
        read = self._virtual(self._class(CONVERTER), "toConnectData", both, self._string, self._bytes)
        each = [
            self._filter(self._insert(read.bindTo(converter), 0, topic), self._at(self._rows, array))
            for converter, array in ((key, keys), (value, values))
        ]
        time = self._at(self._longs, times).asType(self._type(long, self._int))
        make = self._permuted(self._filter(make, *each, self._at(self._longs, offsets), time), record, [self._int], [0, 0, 0, 0])
        put = self._virtual(self._map, "put", self._object, self._object, self._object).bindTo(failed)
        exception = self._class("java.lang.Exception")
        put = self._permuted(put.asType(self._type(self._void, self._int, exception)), self._void, [exception, self._int], [1, 0])
        caught = self._mh.catchException(make, exception, self._mh.filterReturnValue(put, self._mh.constant(record, None)))
        return self._as("java.util.function.IntFunction", caught, self._type(self._object, self._int))

    def committed(self, task: Any, metadata: Any) -> Any:
        """A Consumer that tells a SourceTask of a record that the topic has."""
        source = self._class("org.apache.kafka.connect.source.SourceRecord")
        told = self._class("org.apache.kafka.clients.producer.RecordMetadata")
        call = self._virtual(self._class("org.apache.kafka.connect.source.SourceTask"), "commitRecord", self._void, source, told)
        made = self._insert(call.bindTo(task), 1, metadata)
        return self._as("java.util.function.Consumer", made, self._type(self._void, self._object))

    def _converted(self, converter: Any, schema: str, value: str) -> Any:
        read = self._virtual(self._class(CONVERTER), "fromConnectData", self._bytes, self._string, self._schema, self._object)
        got = (self._get("topic", self._string), self._get(schema, self._schema), self._get(value, self._object))
        return self._permuted(self._filter(read.bindTo(converter), *got), self._bytes, [self._record], [0, 0, 0])

    def _nullable(self, out: Any) -> Any:
        """Writes -1 for null, else the length and the bytes."""
        number = self._virtual(self._out, "writeInt", self._void, self._int).bindTo(out)
        length = self._filter(number, self._mh.arrayLength(self._bytes))
        body = self._virtual(self._class("java.io.OutputStream"), "write", self._void, self._bytes).bindTo(out)
        nothing = self._drop(self._insert(number, 0, self._jpype.JClass("java.lang.Integer")(-1)), 0, self._bytes)
        is_null = self._is(present=False).asType(self._type(self._bool, self._bytes))
        return self._mh.guardWithTest(is_null, nothing, self._in_order(length, body))

    def _caught(self, handle: Any, failed: Any, otherwise: Any) -> Any:
        """Puts (record, exception) into `failed`, and then does `otherwise` with the record, if that is given."""
        exception = self._class("java.lang.Exception")
        put = self._virtual(self._map, "put", self._object, self._object, self._object).bindTo(failed)
        put = self._permuted(
            put.asType(self._type(self._void, self._record, exception)), self._void, [exception, self._record], [1, 0]
        )
        if otherwise is not None:
            put = self._mh.foldArguments(self._drop(otherwise, 0, exception), put)
        return self._mh.catchException(handle, exception, put)

    def _or_else(self, value: Any) -> Any:
        known = self._look.findStatic(
            self._class("java.util.Objects"), "requireNonNullElse", self._type(self._object, self._object, self._object)
        )
        return self._insert(known, 1, value)

    def _is(self, *, present: bool) -> Any:
        name = "nonNull" if present else "isNull"
        return self._look.findStatic(self._class("java.util.Objects"), name, self._type(self._bool, self._object))

    def _at(self, kind: Any, array: Any) -> Any:
        return self._mh.arrayElementGetter(kind).bindTo(array)

    def _in_order(self, *steps: Any) -> Any:
        """All of them with the same arguments."""
        whole = steps[-1]
        for step in reversed(steps[:-1]):
            whole = self._mh.foldArguments(whole, step)
        return whole

    def _get(self, name: str, returned: Any) -> Any:
        return self._virtual(self._record, name, returned)

    def _class(self, name: str) -> Any:
        return self._jpype.JClass(name).class_

    def _type(self, returned: Any, *args: Any) -> Any:
        array = self._jpype.JArray(self._jpype.JClass("java.lang.Class"))(list(args))
        return self._jpype.JClass("java.lang.invoke.MethodType").methodType(returned, array)

    def _virtual(self, of: Any, name: str, returned: Any, *args: Any) -> Any:
        return self._look.findVirtual(of, name, self._type(returned, *args))

    def _filter(self, target: Any, *filters: Any) -> Any:
        handle = self._jpype.JClass("java.lang.invoke.MethodHandle")
        return self._mh.filterArguments(target, 0, self._jpype.JArray(handle)(list(filters)))

    def _permuted(self, target: Any, returned: Any, args: list[Any], order: list[int]) -> Any:
        return self._mh.permuteArguments(target, self._type(returned, *args), self._jpype.JArray(self._jpype.JInt)(order))

    def _insert(self, target: Any, at: int, *values: Any) -> Any:
        return self._mh.insertArguments(target, at, self._jpype.JArray(self._jpype.JObject)(list(values)))

    def _drop(self, target: Any, at: int, *kinds: Any) -> Any:
        return self._mh.dropArguments(target, at, self._jpype.JArray(self._jpype.JClass("java.lang.Class"))(list(kinds)))

    def _as(self, interface: str, handle: Any, generic: Any) -> Any:
        proxies = self._jpype.JClass("java.lang.invoke.MethodHandleProxies")
        return proxies.asInterfaceInstance(self._class(interface), handle.asType(generic))
