import java.io.File;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Stands for the file system s3a of a metastore, which makes folders in it and looks for them: a folder of this machine. */
public final class FolderOfS3 extends RawLocalFileSystem {
    private URI uri;
    private File root;

    @Override
    public void initialize(URI name, Configuration settings) throws IOException {
        uri = URI.create(name.getScheme() + "://" + name.getAuthority());
        root = new File(settings.get("folder.of.s3"), name.getAuthority());
        root.mkdirs();
        super.initialize(name, settings);
    }

    @Override
    public URI getUri() {
        // Asked before it is told which one it is.
        return uri == null ? super.getUri() : uri;
    }

    @Override
    public File pathToFile(Path path) {
        return new File(root, path.toUri().getPath());
    }
}
