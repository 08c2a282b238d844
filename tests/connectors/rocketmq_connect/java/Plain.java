package plain;

import io.openmessaging.KeyValue;
import io.openmessaging.connector.api.component.task.Task;
import io.openmessaging.connector.api.component.task.sink.SinkConnector;
import io.openmessaging.connector.api.component.task.sink.SinkTask;
import io.openmessaging.connector.api.component.task.source.SourceConnector;
import io.openmessaging.connector.api.component.task.source.SourceTask;
import io.openmessaging.connector.api.data.ConnectRecord;
import io.openmessaging.connector.api.data.RecordOffset;
import io.openmessaging.connector.api.data.RecordPartition;
import io.openmessaging.connector.api.data.Schema;
import io.openmessaging.connector.api.data.SchemaBuilder;
import io.openmessaging.connector.api.data.Struct;
import io.openmessaging.connector.api.data.logical.Decimal;
import io.openmessaging.connector.api.data.logical.Time;
import io.openmessaging.connector.api.data.logical.Timestamp;
import io.openmessaging.connector.api.errors.ConnectException;
import io.openmessaging.connector.api.errors.RetriableException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Connectors that use what RocketMQ Connect has for them, and write down what they are told. */
public class Plain {
    static void say(KeyValue config, String what) {
        if (!config.containsKey("events")) return;
        try {
            Files.writeString(Path.of(config.getString("events")), what + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new ConnectException(error);
        }
    }

    public static class LinesSourceConnector extends SourceConnector {
        KeyValue config;
        @Override public void validate(KeyValue given) {
            if (!given.containsKey("filename")) throw new ConnectException("Request config key: filename");
        }
        @Override public void start(KeyValue given) {
            config = given;
            say(config, "connector starts with the password " + config.getString("file.password"));
        }
        @Override public void stop() { say(config, "connector stops"); }
        @Override public Class<? extends Task> taskClass() { return LinesSourceTask.class; }
        @Override public List<KeyValue> taskConfigs(int most) {
            if (config.containsKey("plans.nothing")) return Collections.emptyList();
            if (config.containsKey("plans.badly")) throw new ConnectException("no plan");
            return Collections.singletonList(config);
        }
    }

    public static class LinesSourceTask extends SourceTask {
        KeyValue config;
        long place;
        @Override public void start(KeyValue given) {
            config = given;
            RecordOffset stored = sourceTaskContext.offsetStorageReader().readOffset(partition());
            say(config, "stored " + (stored == null ? null : stored.getOffset()));
            if (stored != null) place = Long.parseLong(stored.getOffset().get("nextPosition").toString());
        }
        RecordPartition partition() { return new RecordPartition(Collections.singletonMap("filename", config.getString("filename"))); }
        @Override public List<ConnectRecord> poll() throws InterruptedException {
            List<ConnectRecord> records = new ArrayList<>();
            try (RandomAccessFile file = new RandomAccessFile(config.getString("filename"), "r")) {
                file.seek(place);
                for (String line = file.readLine(); line != null && records.size() < 100; line = file.readLine()) {
                    place = file.getFilePointer();
                    line = new String(line.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
                    if (line.equals("throw")) throw new ConnectException("a line says so");
                    RecordOffset offset = new RecordOffset(Collections.singletonMap("nextPosition", String.valueOf(place)));
                    // A schema of its own for each, as the sample of RocketMQ Connect has it.
                    ConnectRecord record = new ConnectRecord(partition(), offset, 7L, SchemaBuilder.string().build(), line);
                    record.addExtension("at", String.valueOf(place));
                    if (line.startsWith("to ")) record.addExtension("topic", line.substring(3));
                    records.add(record);
                }
            } catch (IOException error) {
                throw new ConnectException(error);
            }
            if (records.isEmpty()) Thread.sleep(50);
            return records;
        }
        @Override public void commit(ConnectRecord record, Map<String, String> metadata) {
            say(config, "committed " + record.getData() + " " + metadata.get("send.status"));
        }
        @Override public void commit() { say(config, "commit"); }
        @Override public void stop() { say(config, "stop"); }
    }

    public static class TypedSourceConnector extends LinesSourceConnector {
        @Override public void validate(KeyValue given) { }
        @Override public Class<? extends Task> taskClass() { return TypedSourceTask.class; }
    }

    public static class TypedSourceTask extends SourceTask {
        static final Schema PLACE = SchemaBuilder.struct().name("place").field("zip", SchemaBuilder.string().required().build()).optional().build();
        static final Schema ROW = SchemaBuilder.struct().name("orders").version(3)
            .field("i8", SchemaBuilder.int8().build())
            .field("i16", SchemaBuilder.int16().build())
            .field("i32", SchemaBuilder.int32().build())
            .field("i64", SchemaBuilder.int64().required().build())
            .field("f32", SchemaBuilder.float32().build())
            .field("f64", SchemaBuilder.float64().build())
            .field("flag", SchemaBuilder.bool().build())
            .field("text", SchemaBuilder.string().build())
            .field("raw", SchemaBuilder.bytes().build())
            .field("buffer", SchemaBuilder.bytes().build())
            .field("price", Decimal.schema(2))
            .field("day", SchemaBuilder.date().build())
            .field("clock", Time.SCHEMA)
            .field("moment", Timestamp.SCHEMA)
            .field("tags", SchemaBuilder.array(SchemaBuilder.string().build()).build())
            .field("counts", SchemaBuilder.map(SchemaBuilder.string().build(), SchemaBuilder.int64().build()).build())
            .field("place", PLACE)
            .field("nothing", SchemaBuilder.string().optional().build())
            .build();
        boolean given;
        @Override public void start(KeyValue config) { }
        @Override public void stop() { }
        @Override public List<ConnectRecord> poll() {
            if (given) return null;
            given = true;
            List<ConnectRecord> records = new ArrayList<>();
            add(records, ROW, row());
            Struct bad = row();
            // Nobody checks what is set so.
            bad.getValues()[16] = new Struct(PLACE);
            add(records, ROW, bad);
            add(records, ROW, row());
            Map<String, Object> plain = new HashMap<>();
            plain.put("a", Arrays.asList(1, 2L, 0.5, true, null, new BigDecimal("1.10")));
            add(records, null, plain);
            add(records, null, new Thread());
            add(records, SchemaBuilder.int64().build(), 5);
            add(records, SchemaBuilder.int64().build(), Long.MIN_VALUE);
            add(records, ROW, null);
            return records;
        }
        static Struct row() {
            ByteBuffer buffer = ByteBuffer.wrap(new byte[] {9, 1, 2});
            buffer.get();
            return new Struct(ROW)
                .put("i8", (byte) -8).put("i16", (short) -16).put("i32", -32).put("i64", Long.MAX_VALUE)
                .put("f32", 0.5f).put("f64", 0.1).put("flag", true).put("text", "Grüße 😀")
                .put("raw", new byte[] {0, -1}).put("buffer", buffer).put("price", new BigDecimal("-1.10"))
                .put("day", new Date(86400000L * 19723)).put("clock", new Date(1L)).put("moment", new Date(-1L))
                .put("tags", Arrays.asList("a", "b")).put("counts", Collections.singletonMap("n", 1L))
                .put("place", new Struct(PLACE).put("zip", "1010"));
        }
        static void add(List<ConnectRecord> records, Schema schema, Object value) {
            Map<String, Object> partition = new HashMap<>();
            partition.put("table", "t");
            partition.put("shard", 1);
            RecordOffset offset = new RecordOffset(Collections.singletonMap("at", records.size()));
            Schema key = SchemaBuilder.int32().build();
            records.add(new ConnectRecord(new RecordPartition(partition), offset, null, key, records.size(), schema, value));
        }
    }

    public static class StrictSinkConnector extends SinkConnector {
        KeyValue config;
        @Override public void start(KeyValue given) { config = given; }
        @Override public void stop() { }
        @Override public Class<? extends Task> taskClass() { return StrictSinkTask.class; }
        @Override public List<KeyValue> taskConfigs(int most) { return Collections.singletonList(config); }
    }

    /** Lines in a file, which are written when it is flushed. */
    public static class StrictSinkTask extends SinkTask {
        KeyValue config;
        boolean tried;
        final List<String> waiting = new ArrayList<>();
        ConnectRecord late;
        @Override public void start(KeyValue given) { config = given; }
        @Override public void put(List<ConnectRecord> records) {
            if (late != null) sinkTaskContext.errorRecordReporter().report(late, new ConnectException("too late"));
            late = null;
            if (records.isEmpty()) sinkTaskContext.resume(new ArrayList<>(sinkTaskContext.assignment()));
            List<String> taken = new ArrayList<>();
            for (ConnectRecord record : records) {
                Object data = record.getData();
                if ("bad".equals(data)) {
                    sinkTaskContext.errorRecordReporter().report(record, new ConnectException("is bad"));
                    continue;
                }
                if ("again".equals(data) && !tried) {
                    tried = true;
                    throw new RetriableException("not now");
                }
                if ("throw".equals(data)) throw new ConnectException("is full");
                if ("late".equals(data)) late = record;
                if ("rewind".equals(data)) {
                    sinkTaskContext.resetOffset(record.getPosition().getPartition(), record.getPosition().getOffset());
                }
                if ("pause".equals(data)) sinkTaskContext.pause(List.of(record.getPosition().getPartition()));
                String type = record.getSchema() == null ? "-" : record.getSchema().getFieldType().toString();
                taken.add(type + " " + data + " " + record.getKey() + " " + record.getExtension("h") + " " + record.getTimestamp());
            }
            waiting.addAll(taken);
        }
        @Override public void flush(Map<RecordPartition, RecordOffset> offsets) {
            try {
                Files.write(Path.of(config.getString("filename")), waiting, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new ConnectException(error);
            }
            waiting.clear();
            say(config, "flush " + offsets.values());
        }
        @Override public void stop() { say(config, "stop"); }
    }
}
