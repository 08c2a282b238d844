import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** The NameNode and one DataNode of HDFS in one process, by hdfs-site.xml. Formats a file system that is not there yet. */
public final class OneNodeHdfs {
    private OneNodeHdfs() {}

    /**
     * Runs until it is killed.
     *
     * @param arguments the folder of the NameNode
     */
    public static void main(String[] arguments) throws Exception {
        // Otherwise formatting and starting in one process would name the same measurements twice.
        DefaultMetricsSystem.setMiniClusterMode(true);
        Configuration settings = new HdfsConfiguration();
        if (!new File(arguments[0], "current").exists()) {
            NameNode.format(settings);
        }
        NameNode names = NameNode.createNameNode(new String[0], settings);
        DataNode.createDataNode(new String[0], settings);
        names.join();
    }
}
