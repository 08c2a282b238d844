package louder;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** A transform in a jar without a connector: values in capital letters. */
public class Louder<R extends ConnectRecord<R>> implements Transformation<R> {
    public R apply(R record) {
        String value = record.value().toString().toUpperCase();
        return record.newRecord(
            record.topic(), record.kafkaPartition(), record.keySchema(), record.key(), record.valueSchema(), value, record.timestamp());
    }
    public ConfigDef config() { return new ConfigDef(); }
    public void configure(Map<String, ?> given) { }
    public void close() { }
}
