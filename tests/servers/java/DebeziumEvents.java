import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.io.BufferedWriter;
import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/**
 * Runs Debezium's engine until it is told to end, or fails.
 *
 * DebeziumEvents PROPERTIES EVENTS: the engine's properties, and the file that gets each event as a line of JSON with destination,
 * key, value and headers.
 */
public final class DebeziumEvents {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (InputStream file = new FileInputStream(arguments[0])) {
            properties.load(file);
        }
        try (BufferedWriter events = Files.newBufferedWriter(Path.of(arguments[1]))) {
            var builder = DebeziumEngine.create(KeyValueHeaderChangeEventFormat.of(Json.class, Json.class, Json.class));
            DebeziumEngine<ChangeEvent<String, String>> engine = builder
                .using(properties)
                .using((success, message, error) -> {
                    if (!success) {
                        System.err.println(message);
                        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                            System.err.println(cause);
                        }
                    }
                })
                .notifying((records, committer) -> {
                    try {
                        for (ChangeEvent<String, String> record : records) {
                            write(events, record);
                            committer.markProcessed(record);
                        }
                        events.flush();
                    } catch (java.io.IOException error) {
                        throw new java.io.UncheckedIOException(error);
                    }
                    committer.markBatchFinished();
                })
                .build();
            Thread running = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    engine.close();
                    running.join(20_000);
                } catch (Exception error) {
                    System.err.println(error);
                }
            }));
            engine.run();
        }
    }

    private static void write(BufferedWriter events, ChangeEvent<String, String> record) throws java.io.IOException {
        events.write("{\"destination\":\"" + record.destination() + "\",\"key\":" + record.key() + ",\"value\":" + record.value());
        events.write(",\"headers\":{");
        String separator = "";
        for (var header : record.headers()) {
            events.write(separator + "\"" + header.getKey() + "\":" + header.getValue());
            separator = ",";
        }
        events.write("}}\n");
    }
}
