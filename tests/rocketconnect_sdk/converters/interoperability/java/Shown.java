import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Values as [their class, what they are]: floating point numbers as their bits, so that none is rounded on the way. */
final class Shown {
    static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    static final HexFormat HEX = HexFormat.of();
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Shown() {}

    /** Of structs `fields` gives the [name, value] pairs; null for whatever is no struct. */
    static JsonNode value(Object value, Function<Object, Map<String, Object>> fields) {
        if (value == null) {
            return NODES.nullNode();
        }
        if (value instanceof ByteBuffer) {
            return value(((ByteBuffer) value).array(), fields);
        }
        if (value instanceof List) {
            ArrayNode items = NODES.arrayNode();
            ((List<?>) value).forEach(item -> items.add(value(item, fields)));
            return NODES.arrayNode().add("List").add(items);
        }
        if (value instanceof Map) {
            ArrayNode pairs = NODES.arrayNode();
            ((Map<?, ?>) value).forEach((key, item) -> pairs.addArray().add(value(key, fields)).add(value(item, fields)));
            return NODES.arrayNode().add("Map").add(pairs);
        }
        Map<String, Object> ofStruct = fields.apply(value);
        if (ofStruct != null) {
            ArrayNode pairs = NODES.arrayNode();
            ofStruct.forEach((name, item) -> pairs.addArray().add(name).add(value(item, fields)));
            return NODES.arrayNode().add("Struct").add(pairs);
        }
        return leaf(value);
    }

    private static JsonNode leaf(Object value) {
        ArrayNode node = NODES.arrayNode().add(value.getClass().getSimpleName());
        if (value instanceof Float) {
            return node.add(Integer.toHexString(Float.floatToRawIntBits((Float) value)));
        }
        if (value instanceof Double) {
            return node.add(Long.toHexString(Double.doubleToRawLongBits((Double) value)));
        }
        if (value instanceof BigDecimal) {
            return node.add(((BigDecimal) value).unscaledValue().toString()).add(((BigDecimal) value).scale());
        }
        if (value instanceof java.util.Date) {
            return node.add(((java.util.Date) value).getTime());
        }
        return node.add(value instanceof byte[] ? HEX.formatHex((byte[]) value) : value.toString());
    }

    /** One line on standard output, in UTF-8 whatever the machine's encoding is. */
    static void print(JsonNode node) throws Exception {
        System.out.write((MAPPER.writeValueAsString(node) + "\n").getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }
}
