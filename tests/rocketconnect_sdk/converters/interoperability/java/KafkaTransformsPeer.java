import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Kafka's own transforms, predicates and regular expressions. Each line is a JSON object and is answered by one: with "class" a
 * transform or predicate, its "config" and a record; with "pattern" what that finds in a "text".
 */
public final class KafkaTransformsPeer {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final SimpleHeaderConverter HEADERS = new SimpleHeaderConverter();
    private static final Map<Boolean, JsonConverter> VALUES = Map.of(true, converter(true, false), false, converter(false, false));
    private static final Map<Boolean, JsonConverter> KEYS = Map.of(true, converter(true, true), false, converter(false, true));

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = MAPPER.readTree(line);
            ObjectNode answer = Shown.NODES.objectNode();
            try {
                if (asked.has("pattern")) {
                    search(asked, answer);
                } else {
                    apply(asked, answer);
                }
            } catch (Exception | StackOverflowError error) {
                answer.removeAll().put("error", error.toString());
            }
            Shown.print(answer);
        }
    }

    private static JsonConverter converter(boolean schemas, boolean isKey) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "" + schemas, "replace.null.with.default", "false"), isKey);
        return converter;
    }

    private static void search(JsonNode asked, ObjectNode answer) {
        Matcher matcher = Pattern.compile(asked.get("pattern").asText(), asked.get("flags").asInt()).matcher(asked.get("text").asText());
        answer.put("matches", matcher.matches());
        matcher.reset();
        ArrayNode found = answer.putArray("found");
        while (matcher.find()) {
            ArrayNode groups = found.addArray();
            for (int group = 0; group <= matcher.groupCount(); group++) {
                groups.add(matcher.group(group));
            }
        }
    }

    private static void apply(JsonNode asked, ObjectNode answer) throws Exception {
        boolean schemas = asked.get("schemas").asBoolean();
        SchemaAndValue key = KEYS.get(schemas).toConnectData("t", bytes(asked.get("key")));
        SchemaAndValue value = VALUES.get(schemas).toConnectData("t", bytes(asked.get("value")));
        Long time = asked.get("timestamp").isNull() ? null : asked.get("timestamp").asLong();
        SinkRecord record = new SinkRecord(asked.get("topic").asText(), 0, key.schema(), key.value(), value.schema(), value.value(), 0,
            time, org.apache.kafka.common.record.TimestampType.CREATE_TIME);
        for (JsonNode header : asked.get("headers")) {
            record.headers().addString(header.get(0).asText(), header.get(1).asText());
        }
        Map<String, String> config = new HashMap<>();
        asked.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        Object made = Class.forName(asked.get("class").asText()).getDeclaredConstructor().newInstance();
        if (made instanceof Predicate) {
            @SuppressWarnings("unchecked")
            Predicate<SinkRecord> predicate = (Predicate<SinkRecord>) made;
            predicate.configure(config);
            answer.put("chosen", predicate.test(record));
            return;
        }
        @SuppressWarnings("unchecked")
        Transformation<SinkRecord> transform = (Transformation<SinkRecord>) made;
        validate(transform.config(), config);
        transform.configure(config);
        SinkRecord done = transform.apply(record);
        if (done == null) {
            answer.put("dropped", true);
            return;
        }
        answer.put("topic", done.topic()).put("timestamp", done.timestamp());
        boolean hasKeySchema = done.keySchema() != null || (schemas && done.key() == null);
        boolean hasSchema = done.valueSchema() != null || (schemas && done.value() == null);
        answer.put("key_schemas", hasKeySchema).put("value_schemas", hasSchema);
        answer.put("key", text(KEYS.get(hasKeySchema).fromConnectData("t", done.keySchema(), done.key())));
        answer.put("value", text(VALUES.get(hasSchema).fromConnectData("t", done.valueSchema(), done.value())));
        ArrayNode headers = answer.putArray("headers");
        for (Header header : done.headers()) {
            headers.addArray().add(header.key()).add(text(HEADERS.fromConnectHeader("t", header.key(), header.schema(), header.value())));
        }
    }

    private static void validate(ConfigDef options, Map<String, String> config) {
        options.parse(config);
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : text.asText().getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }
}
