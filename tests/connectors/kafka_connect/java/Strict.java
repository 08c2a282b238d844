package strict;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A sink and a source that use what Kafka's file connectors do not, and write down what they are told. */
public class Strict {
    static final ConfigDef CONFIG = new ConfigDef()
        .define("events", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where.")
        .define("plans", ConfigDef.Type.BOOLEAN, true, ConfigDef.Importance.LOW, "Whether it can plan.");

    static void say(Map<String, String> config, String what) {
        try {
            Files.writeString(Path.of(config.get("events")), what + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new RuntimeException(error);
        }
    }

    public static class StrictSinkConnector extends SinkConnector {
        Map<String, String> config;
        public void start(Map<String, String> given) { config = given; }
        public Class<? extends Task> taskClass() { return StrictSinkTask.class; }
        public List<Map<String, String>> taskConfigs(int most) {
            if ("false".equals(config.get("plans"))) throw new DataException("no plan");
            return List.of(config);
        }
        public void stop() {
            if (!config.containsKey("plans")) return;
            say(config, "connector stops");
            throw new DataException("stops badly");
        }
        public ConfigDef config() { return CONFIG; }
        public String version() { return "1.0"; }
    }

    public static class StrictSinkTask extends SinkTask {
        Map<String, String> config;
        boolean tried;
        SinkRecord late;
        public String version() { return "1.0"; }
        public void start(Map<String, String> given) { config = given; }
        public void open(Collection<TopicPartition> partitions) { say(config, "open " + partitions); }
        public void close(Collection<TopicPartition> partitions) { say(config, "close " + partitions); }
        public void stop() { say(config, "stop"); }
        public void put(Collection<SinkRecord> records) {
            if (records.isEmpty() && late != null) context.errantRecordReporter().report(late, new DataException("is late"));
            if (records.isEmpty()) for (TopicPartition each : context.assignment()) context.resume(each);
            for (SinkRecord record : records) {
                TopicPartition place = new TopicPartition(record.topic(), record.kafkaPartition());
                String value = String.valueOf(record.value());
                if (value.equals("again") && !tried) {
                    tried = true;
                    context.timeout(70);
                    throw new RetriableException("not now");
                }
                if (value.equals("bad")) context.errantRecordReporter().report(record, new DataException("is bad"));
                if (value.equals("late")) late = record;
                if (value.equals("pause")) context.pause(place);
                if (value.equals("rewind")) context.offset(place, 0);
                say(config, "put " + value);
            }
        }
        public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            Map<TopicPartition, OffsetAndMetadata> durable = new HashMap<>();
            // The last record of each is not durable yet.
            offsets.forEach((place, offset) -> durable.put(place, new OffsetAndMetadata(offset.offset() - 1)));
            return durable;
        }
    }

    public static class StrictSourceConnector extends SourceConnector {
        Map<String, String> config;
        public void start(Map<String, String> given) { config = given; say(config, "connector starts"); }
        public Class<? extends Task> taskClass() { return StrictSourceTask.class; }
        public List<Map<String, String>> taskConfigs(int most) { return List.of(config); }
        public void stop() { }
        public ConfigDef config() { return CONFIG; }
        public String version() { return "1.0"; }
    }

    public static class StrictSourceTask extends SourceTask {
        Map<String, String> config;
        boolean given;
        public String version() { return "1.0"; }
        public void start(Map<String, String> told) {
            config = told;
            say(config, "stored " + context.offsetStorageReader().offset(Map.of("of", "two")));
        }
        public List<SourceRecord> poll() throws InterruptedException {
            if (given) {
                Thread.sleep(20);
                return null;
            }
            given = true;
            List<SourceRecord> records = new ArrayList<>();
            for (int number = 0; number < 4; number++) {
                Map<String, ?> partition = number % 2 == 0 ? null : Map.of("of", "two");
                Map<String, ?> offset = number == 3 ? Map.of("at", 3) : null;
                records.add(new SourceRecord(partition, offset, "t." + number % 2, Schema.STRING_SCHEMA, number == 1 ? null : "v" + number));
            }
            return records;
        }
        public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            say(config, "committed " + record.value() + " " + (metadata != null));
        }
        public void commit() { say(config, "commit"); }
        public void stop() { say(config, "stop"); }
    }
}
