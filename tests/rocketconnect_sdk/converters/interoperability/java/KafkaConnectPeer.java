import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Kafka's JsonConverter as the other side. With "examples" it prints messages of values that Kafka Connect has, a line each. Else
 * it answers each line, "DECIMAL_FORMAT HEX" or "NULLS HEX" (replace.null.with.default=false), with what it read in that message, and how it writes that again.
 */
public final class KafkaConnectPeer {
    private static final Map<String, JsonConverter> CONVERTERS =
        Map.of("BASE64", converter("BASE64", "true"), "NUMERIC", converter("NUMERIC", "true"), "NULLS", converter("BASE64", "false"));

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

    private static JsonConverter converter(String decimalFormat, String replacesNull) {
        JsonConverter converter = new JsonConverter();
        Map<String, String> options =
            Map.of("schemas.enable", "true", "decimal.format", decimalFormat, "replace.null.with.default", replacesNull);
        converter.configure(options, false);
        return converter;
    }

    private static ObjectNode answer(JsonConverter converter, byte[] message) {
        try {
            SchemaAndValue read = converter.toConnectData("topic", message);
            return described(converter, read.schema(), read.value());
        } catch (RuntimeException error) {
            return Shown.NODES.objectNode().put("error", error.toString());
        }
    }

    private static ObjectNode described(JsonConverter converter, Schema schema, Object value) {
        ObjectNode node = Shown.NODES.objectNode();
        node.set("schema", shown(schema));
        node.set("value", shown(value == null && schema != null ? schema.defaultValue() : value));
        byte[] written = converter.fromConnectData("topic", schema, value);
        return node.put("written", written == null ? null : new String(written, StandardCharsets.UTF_8));
    }

    private static JsonNode shown(Schema schema) {
        if (schema == null) {
            return Shown.NODES.nullNode();
        }
        ObjectNode node = Shown.NODES.objectNode().put("type", schema.type().name()).put("optional", schema.isOptional());
        node.put("name", schema.name()).put("version", schema.version()).put("doc", schema.doc());
        ObjectNode parameters = node.putObject("parameters");
        if (schema.parameters() != null) {
            schema.parameters().forEach(parameters::put);
        }
        node.set("default", shown(schema.defaultValue()));
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.fields()) {
                fields.addArray().add(field.name()).add(shown(field.schema()));
            }
        }
        if (schema.type() == Schema.Type.MAP) {
            node.set("keys", shown(schema.keySchema()));
        }
        if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY) {
            node.set("items", shown(schema.valueSchema()));
        }
        return node;
    }

    private static JsonNode shown(Object value) {
        return Shown.value(value, KafkaConnectPeer::fields);
    }

    private static Map<String, Object> fields(Object value) {
        if (!(value instanceof Struct)) {
            return null;
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        for (Field field : ((Struct) value).schema().fields()) {
            fields.put(field.name(), ((Struct) value).get(field));
        }
        return fields;
    }

    private static void examples() throws Exception {
        for (byte value : new byte[] {Byte.MIN_VALUE, -1, Byte.MAX_VALUE}) {
            example("int8 " + value, Schema.INT8_SCHEMA, value);
        }
        for (short value : new short[] {Short.MIN_VALUE, Short.MAX_VALUE}) {
            example("int16 " + value, Schema.INT16_SCHEMA, value);
        }
        for (int value : new int[] {Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            example("int32 " + value, Schema.INT32_SCHEMA, value);
        }
        for (long value : new long[] {Long.MIN_VALUE, Long.MAX_VALUE}) {
            example("int64 " + value, Schema.INT64_SCHEMA, value);
        }
        float[] floats = {0, -0.0f, 0.1f, Float.MIN_VALUE, Float.MAX_VALUE, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};
        for (float value : floats) {
            example("float32 " + value, Schema.FLOAT32_SCHEMA, value);
        }
        double[] doubles = {
            0, -0.0, 0.1, 1e23, Double.MIN_VALUE, Double.MAX_VALUE, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY
        };
        for (double value : doubles) {
            example("float64 " + value, Schema.FLOAT64_SCHEMA, value);
        }
        example("boolean true", Schema.BOOLEAN_SCHEMA, true);
        example("boolean false", Schema.BOOLEAN_SCHEMA, false);
        example("string", Schema.STRING_SCHEMA, "\0\"\\\n\u00fc\u4e16\ud83d\ude00</script>");
        example("string empty", Schema.STRING_SCHEMA, "");
        example("bytes", Schema.BYTES_SCHEMA, new byte[] {0, 1, -1, 127});
        example("bytes empty", Schema.BYTES_SCHEMA, new byte[0]);
        for (String value : new String[] {"0.00", "-12.34", "99999999999999999999999999999999999999.99"}) {
            example("decimal " + value, Decimal.schema(2), new BigDecimal(value));
        }
        example("decimal of tens", Decimal.schema(-3), new BigDecimal("5E+3"));
        example("decimal of many places", Decimal.schema(40), new BigDecimal("-1E-40"));
        Schema precise = Decimal.builder(2).parameter("connect.decimal.precision", "9").parameter("more", "x").optional().build();
        example("decimal precise", precise, new BigDecimal("1234567.89"));
        for (int day : new int[] {-719162, -1, 0, 19782, 2932896}) {
            example("date " + day, Date.SCHEMA, Date.toLogical(Date.SCHEMA, day));
        }
        for (int milliseconds : new int[] {0, 3723004, 86399999}) {
            example("time " + milliseconds, Time.SCHEMA, Time.toLogical(Time.SCHEMA, milliseconds));
        }
        for (long milliseconds : new long[] {-62135596800000L, -1, 0, 1700000000123L, 253402300799999L}) {
            example("timestamp " + milliseconds, Timestamp.SCHEMA, new java.util.Date(milliseconds));
        }
        Schema texts = SchemaBuilder.array(Schema.OPTIONAL_STRING_SCHEMA).build();
        example("array", texts, Arrays.asList("a", null, "\u00fc"));
        example("array empty", texts, List.of());
        example("array of days", SchemaBuilder.array(Date.SCHEMA).build(), List.of(new java.util.Date(86_400_000)));
        example("map", SchemaBuilder.map(Schema.STRING_SCHEMA, Schema.OPTIONAL_INT32_SCHEMA).build(), Map.of("k", 5));
        example("map by number", SchemaBuilder.map(Schema.INT32_SCHEMA, Schema.STRING_SCHEMA).build(), Map.of(9, "nine"));
        example("map by day", SchemaBuilder.map(Date.SCHEMA, texts).build(), Map.of(new java.util.Date(0), List.of("x")));
        Schema id = SchemaBuilder.string().name("io.debezium.data.Uuid").version(1).build();
        example("map by id", SchemaBuilder.map(id, Decimal.schema(1)).build(),
            Map.of("12345678-1234-5678-1234-567812345678", new BigDecimal("0.5")));
        example("optional null", Schema.OPTIONAL_INT64_SCHEMA, null);
        example("optional there", Schema.OPTIONAL_FLOAT64_SCHEMA, 1.5);
        example("nothing said", null, Map.of("a", List.of(1L, true, 2.5)));
        struct();
        defaults();
    }

    private static void struct() throws Exception {
        Schema inner = SchemaBuilder.struct().name("inner").field("x", Schema.INT8_SCHEMA).optional().build();
        Schema order = SchemaBuilder.struct().name("orders").version(3).doc("An order").parameter("table", "orders")
            .field("id", Schema.INT64_SCHEMA)
            .field("name", SchemaBuilder.string().optional().doc("Of whom").build())
            .field("price", Decimal.builder(2).doc("In euros").build())
            .field("day", Date.builder().optional().build())
            .field("at", Time.SCHEMA)
            .field("when", Timestamp.SCHEMA)
            .field("inner", inner)
            .field("inners", SchemaBuilder.array(inner).build())
            .build();
        Struct value = new Struct(order).put("id", 7L).put("price", new BigDecimal("10.25"))
            .put("at", new java.util.Date(3_723_004)).put("when", new java.util.Date(1_700_000_000_123L))
            .put("inners", Arrays.asList(new Struct(inner).put("x", (byte) -5), null));
        example("struct", order, value);
    }

    private static void defaults() throws Exception {
        Schema all = SchemaBuilder.struct()
            .field("whole", SchemaBuilder.int32().defaultValue(5).build())
            .field("ratio", SchemaBuilder.float32().defaultValue(0.1f).build())
            .field("ok", SchemaBuilder.bool().defaultValue(false).build())
            .field("text", SchemaBuilder.string().defaultValue("x").build())
            .field("data", SchemaBuilder.bytes().defaultValue(new byte[] {1, -2}).build())
            .field("price", Decimal.builder(2).defaultValue(new BigDecimal("1.50")).build())
            .field("day", Date.builder().defaultValue(new java.util.Date(86_400_000)).build())
            .field("at", Time.builder().defaultValue(new java.util.Date(1_000)).build())
            .field("when", Timestamp.builder().defaultValue(new java.util.Date(1)).build())
            .build();
        example("defaults", all, new Struct(all));
        example("default of an optional", SchemaBuilder.int16().optional().defaultValue((short) 3).build(), null);
    }

    private static void example(String name, Schema schema, Object value) throws Exception {
        boolean isDecimal = name.startsWith("decimal") || name.equals("struct") || name.equals("defaults");
        for (String format : isDecimal ? new String[] {"BASE64", "NUMERIC"} : new String[] {"BASE64"}) {
            ObjectNode node = Shown.NODES.objectNode().put("name", name).put("decimal.format", format);
            node.setAll(described(CONVERTERS.get(format), schema, value));
            Shown.print(node);
        }
    }
}
