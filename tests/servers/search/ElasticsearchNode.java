import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** The core of Elasticsearch in this process: a node that is a cluster of its own. */
public class ElasticsearchNode {
    /** Takes its folder, and the ports of HTTP and of the transport. */
    public static void main(String[] words) throws Exception {
        Path home = Path.of(words[0]).toAbsolutePath();
        Settings settings =
                Settings.builder()
                        .put("path.home", home.toString())
                        .put("path.data", home + "/data")
                        .put("path.logs", home + "/logs")
                        .put("cluster.name", "test")
                        .put("http.port", words[1])
                        .put("transport.port", words[2])
                        .put("http.max_content_length", "8mb")
                        .put("network.host", "127.0.0.1")
                        .put("discovery.type", "single-node")
                        .put("transport.type", "netty4")
                        .put("http.type", "netty4")
                        .put("action.auto_create_index", true)
                        .put("cluster.routing.allocation.disk.threshold_enabled", false)
                        .build();
        LogConfigurator.configureESLogging();
        LogConfigurator.configureWithoutConfig(Settings.builder().put("logger.level", "INFO").build());
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), home.resolve("config"), () -> "node");
        PluginsLoader plugins =
                PluginsLoader.createPluginsLoader(PluginsLoader.loadModulesBundles(environment.modulesDir(), false), Set.of(), Map.of(), false);
        new Node(environment, plugins).start();
        Thread.currentThread().join();
    }
}
