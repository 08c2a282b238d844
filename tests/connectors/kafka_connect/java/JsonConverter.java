package org.apache.kafka.connect.json;

/** As a plugin brings it that was made for another Kafka: it can't be made with this one. */
public class JsonConverter {
    public JsonConverter() { throw new NoSuchMethodError("of another version of Kafka"); }
}
