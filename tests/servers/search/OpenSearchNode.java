import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.PluginInfo;

/** OpenSearch in this process: a node that is a cluster of its own. */
public class OpenSearchNode extends Node {
    private static final List<String> PLUGINS =
            List.of(
                    "org.opensearch.transport.Netty4ModulePlugin",
                    "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
                    "org.opensearch.index.reindex.ReindexModulePlugin",
                    "org.opensearch.index.mapper.MapperExtrasModulePlugin");

    OpenSearchNode(Settings settings, List<PluginInfo> plugins) {
        super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "node"), plugins, true);
    }

    /** Takes its folder, and the ports of HTTP and of the transport. */
    public static void main(String[] words) throws Exception {
        Path home = Path.of(words[0]).toAbsolutePath();
        Settings settings =
                Settings.builder()
                        .put("path.home", home.toString())
                        .put("cluster.name", "test")
                        .put("node.name", "node")
                        .put("network.host", "127.0.0.1")
                        .put("http.port", words[1])
                        .put("transport.port", words[2])
                        .put("http.max_content_length", "8mb")
                        .put("discovery.type", "single-node")
                        .put("transport.type", "netty4")
                        .put("http.type", "netty4")
                        .put("cluster.routing.allocation.disk.threshold_enabled", false)
                        .build();
        new OpenSearchNode(settings, PLUGINS.stream().map(OpenSearchNode::plugin).collect(Collectors.toList())).start();
        Thread.currentThread().join();
    }

    private static PluginInfo plugin(String name) {
        return new PluginInfo(name, "of the server", "NA", org.opensearch.Version.CURRENT, "21", name, null, Collections.emptyList(), false);
    }
}
