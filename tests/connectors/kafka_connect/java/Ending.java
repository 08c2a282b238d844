package ending;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/** A connector that ends Java when its class is loaded. */
public class Ending {
    public static class EndingConnector extends SinkConnector {
        static { System.exit(3); }
        public void start(Map<String, String> given) { }
        public Class<? extends Task> taskClass() { return null; }
        public List<Map<String, String>> taskConfigs(int most) { return List.of(); }
        public void stop() { }
        public ConfigDef config() { return new ConfigDef(); }
        public String version() { return "1.0"; }
    }
}
