import java.util.Properties;
import org.apache.solr.client.solrj.embedded.JettyConfig;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;

/** Solr in this process. */
public final class SolrNode {
    private SolrNode() {}

    /** Takes its folder, which has solr.xml and the cores, and the port of HTTP. */
    public static void main(String[] words) throws Exception {
        JettyConfig config = JettyConfig.builder().setContext("/solr").setPort(Integer.parseInt(words[1])).stopAtShutdown(true).build();
        JettySolrRunner runner = new JettySolrRunner(words[0], new Properties(), config);
        runner.start();
        Thread.currentThread().join();
    }
}
