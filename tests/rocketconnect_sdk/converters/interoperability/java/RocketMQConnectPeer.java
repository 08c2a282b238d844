import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.openmessaging.connector.api.data.Field;
import io.openmessaging.connector.api.data.FieldType;
import io.openmessaging.connector.api.data.RecordConverter;
import io.openmessaging.connector.api.data.Schema;
import io.openmessaging.connector.api.data.SchemaAndValue;
import io.openmessaging.connector.api.data.SchemaBuilder;
import io.openmessaging.connector.api.data.Struct;
import io.openmessaging.connector.api.data.logical.Time;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.connect.runtime.converter.record.ByteArrayConverter;
import org.apache.rocketmq.connect.runtime.converter.record.DoubleConverter;
import org.apache.rocketmq.connect.runtime.converter.record.FloatConverter;
import org.apache.rocketmq.connect.runtime.converter.record.IntegerConverter;
import org.apache.rocketmq.connect.runtime.converter.record.LongConverter;
import org.apache.rocketmq.connect.runtime.converter.record.ShortConverter;
import org.apache.rocketmq.connect.runtime.converter.record.StringConverter;
import org.apache.rocketmq.connect.runtime.converter.record.json.JsonConverter;

/**
 * RocketMQ Connect's converters as the other side. With "examples" it prints messages of values that RocketMQ Connect has, a line
 * each. Else it answers each line, "CONVERTER HEX", with what it read in that message.
 */
public final class RocketMQConnectPeer {
    private static final Map<String, RecordConverter> CONVERTERS = new LinkedHashMap<>();

    static {
        add("string", new StringConverter(), Map.of());
        add("bytes", new ByteArrayConverter(), Map.of());
        add("short", new ShortConverter(), Map.of());
        add("integer", new IntegerConverter(), Map.of());
        add("long", new LongConverter(), Map.of());
        add("float", new FloatConverter(), Map.of());
        add("double", new DoubleConverter(), Map.of());
        add("json", new JsonConverter(), Map.of("schemas.enable", "true"));
        add("numeric", new JsonConverter(), Map.of("schemas.enable", "true", "decimal.format", "NUMERIC"));
        add("plain", new JsonConverter(), Map.of("schemas.enable", "false"));
    }

    private static void add(String name, RecordConverter converter, Map<String, String> options) {
        converter.configure(options);
        CONVERTERS.put(name, converter);
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 1 && args[0].equals("examples")) {
            examples();
            return;
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Shown.print(answer(CONVERTERS.get(words[0]), Shown.HEX.parseHex(words[1])));
        }
    }

    private static ObjectNode answer(RecordConverter converter, byte[] message) {
        try {
            SchemaAndValue read = converter.toConnectData("topic", message);
            return described(read.schema(), read.value());
        } catch (RuntimeException error) {
            return Shown.NODES.objectNode().put("error", error.toString());
        }
    }

    private static ObjectNode described(Schema schema, Object value) {
        ObjectNode node = Shown.NODES.objectNode();
        node.set("schema", shown(schema));
        node.set("value", shown(value == null && schema != null ? schema.getDefaultValue() : value));
        return node;
    }

    private static JsonNode shown(Schema schema) {
        if (schema == null) {
            return Shown.NODES.nullNode();
        }
        ObjectNode node = Shown.NODES.objectNode().put("type", schema.getFieldType().name()).put("optional", schema.isOptional());
        node.put("name", schema.getName()).put("version", schema.getVersion()).put("doc", schema.getDoc());
        ObjectNode parameters = node.putObject("parameters");
        if (schema.getParameters() != null) {
            schema.getParameters().forEach(parameters::put);
        }
        node.set("default", shown(schema.getDefaultValue()));
        if (schema.getFieldType() == FieldType.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.getFields()) {
                fields.addArray().add(field.getName()).add(shown(field.getSchema()));
            }
        }
        if (schema.getFieldType() == FieldType.MAP) {
            node.set("keys", shown(schema.getKeySchema()));
        }
        if (schema.getFieldType() == FieldType.MAP || schema.getFieldType() == FieldType.ARRAY) {
            node.set("items", shown(schema.getValueSchema()));
        }
        return node;
    }

    private static JsonNode shown(Object value) {
        return Shown.value(value, RocketMQConnectPeer::fields);
    }

    private static Map<String, Object> fields(Object value) {
        if (!(value instanceof Struct)) {
            return null;
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        for (Field field : ((Struct) value).schema().getFields()) {
            fields.put(field.getName(), ((Struct) value).get(field));
        }
        return fields;
    }

    private static void examples() throws Exception {
        example("string", "text", null, "Gr\u00fc\u00dfe, \u4e16\u754c \ud83d\ude00");
        example("string", "empty", null, "");
        example("bytes", "some", null, new byte[] {0, 1, -1, 127});
        example("short", "least", null, Short.MIN_VALUE);
        example("integer", "some", null, -123456789);
        example("long", "most", null, Long.MAX_VALUE);
        example("float", "some", null, 1.5f);
        example("double", "some", null, 3.141592653589793);
        for (byte value : new byte[] {Byte.MIN_VALUE, Byte.MAX_VALUE}) {
            example("json", "int8 " + value, SchemaBuilder.int8().build(), value);
        }
        for (short value : new short[] {Short.MIN_VALUE, Short.MAX_VALUE}) {
            example("json", "int16 " + value, SchemaBuilder.int16().build(), value);
        }
        for (int value : new int[] {Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            example("json", "int32 " + value, SchemaBuilder.int32().build(), value);
        }
        for (long value : new long[] {Long.MIN_VALUE, Long.MAX_VALUE}) {
            example("json", "int64 " + value, SchemaBuilder.int64().build(), value);
        }
        for (float value : new float[] {0.1f, 1.25f, Float.MIN_VALUE, Float.MAX_VALUE}) {
            example("json", "float32 " + value, SchemaBuilder.float32().build(), value);
        }
        for (double value : new double[] {0.1, 1e23, Double.MIN_VALUE, Double.MAX_VALUE}) {
            example("json", "float64 " + value, SchemaBuilder.float64().build(), value);
        }
        example("json", "boolean true", SchemaBuilder.bool().build(), true);
        example("json", "boolean false", SchemaBuilder.bool().required().build(), false);
        example("json", "string", SchemaBuilder.string().build(), "\0\"\\\n\u00fc\u4e16\ud83d\ude00</script>");
        example("json", "bytes", SchemaBuilder.bytes().build(), new byte[] {0, 1, -1, 127});
        for (String converter : new String[] {"json", "numeric"}) {
            for (String value : new String[] {"0.00", "-1.28", "10.23", "99999999999999999999999999999999999999.99"}) {
                example(converter, "decimal " + value, SchemaBuilder.decimal(2).build(), new BigDecimal(value));
            }
        }
        for (int day : new int[] {-719162, -1, 19000, 2932896}) {
            example("json", "date " + day, SchemaBuilder.date().build(), new java.util.Date(day * 86_400_000L));
        }
        for (int milliseconds : new int[] {0, 3723004, 86399999}) {
            example("json", "time " + milliseconds, Time.builder().build(), new java.util.Date(milliseconds));
        }
        for (long milliseconds : new long[] {-62135596800000L, -1, 1700000000123L, 253402300799999L}) {
            example("json", "timestamp " + milliseconds, SchemaBuilder.timestamp().build(), new java.util.Date(milliseconds));
        }
        Schema texts = SchemaBuilder.array(SchemaBuilder.string().build()).build();
        example("json", "array", texts, Arrays.asList("a", null, "\u00fc"));
        example("json", "array of days", SchemaBuilder.array(SchemaBuilder.date().build()).build(),
            List.of(new java.util.Date(86_400_000)));
        example("json", "map", SchemaBuilder.map(SchemaBuilder.string().build(), SchemaBuilder.int32().build()).build(),
            Map.of("k", 5));
        example("json", "map by number", SchemaBuilder.map(SchemaBuilder.int32().build(), SchemaBuilder.string().build()).build(),
            Map.of(9, "nine"));
        example("json", "map by day", SchemaBuilder.map(SchemaBuilder.date().build(), texts).build(),
            Map.of(new java.util.Date(0), List.of("x")));
        Schema id = SchemaBuilder.string().name("io.debezium.data.Uuid").version(1).build();
        example("json", "map by id", SchemaBuilder.map(id, SchemaBuilder.decimal(1).build()).build(),
            Map.of("12345678-1234-5678-1234-567812345678", new BigDecimal("0.5")));
        example("json", "optional null", SchemaBuilder.string().build(), null);
        example("json", "nothing said", null, Map.of("a", 1, "b", List.of(1.5, true)));
        example("json", "default", SchemaBuilder.int32().defaultValue(5).build(), null);
        example("json", "default of text", SchemaBuilder.string().required().defaultValue("x").build(), null);
        Schema order = order();
        Struct value = new Struct(order).put("id", 7L).put("price", new BigDecimal("10.25"))
            .put("at", new java.util.Date(3_723_004)).put("when", new java.util.Date(1_700_000_000_123L))
            .put("ratio", 0.1).put("ok", true).put("data", new byte[] {1, 2, -2}).put("tags", List.of("a", "\u00fc"))
            .put("byid", Map.of(9, "nine")).put("inner", new Struct(order.getField("inner").getSchema()).put("x", 1));
        example("json", "struct", order, value);
        example("plain", "struct", order, value);
    }

    private static Schema order() {
        return SchemaBuilder.struct().name("orders").version(3).doc("An order").parameter("table", "orders")
            .field("id", SchemaBuilder.int64().required().build())
            .field("name", SchemaBuilder.string().doc("Of whom").build())
            .field("price", SchemaBuilder.decimal(2).build())
            .field("day", SchemaBuilder.date().build())
            .field("at", Time.builder().build())
            .field("when", SchemaBuilder.timestamp().build())
            .field("ratio", SchemaBuilder.float64().build())
            .field("ok", SchemaBuilder.bool().build())
            .field("data", SchemaBuilder.bytes().build())
            .field("tags", SchemaBuilder.array(SchemaBuilder.string().build()).build())
            .field("byid", SchemaBuilder.map(SchemaBuilder.int32().build(), SchemaBuilder.string().build()).build())
            .field("inner", SchemaBuilder.struct().name("inner").field("x", SchemaBuilder.int32().build()).build())
            .build();
    }

    private static void example(String converter, String name, Schema schema, Object value) throws Exception {
        ObjectNode node = Shown.NODES.objectNode().put("converter", converter).put("name", name);
        node.setAll(described(schema, value));
        byte[] written = CONVERTERS.get(converter).fromConnectData("topic", schema, value);
        Shown.print(node.put("written", Shown.HEX.formatHex(written)));
    }
}
