package rocketconnect.hudi;

import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** The file system of this machine, where a file has its name when it is whole and on the disk: Hudi leaves both to chance. */
public class WholeFiles extends RawLocalFileSystem {
  public static final String PART = "part-";

  /** Where the files of a table are until they are whole. */
  public static java.nio.file.Path parts(java.nio.file.Path root) {
    return root.resolve(".hoodie").resolve(".rocketconnect");
  }

  public String getScheme() {
    return "file";
  }

  protected OutputStream createOutputStreamWithMode(Path name, boolean append, FsPermission permission) throws IOException {
    if (append) throw new IOException(name + ": files are made whole");
    java.nio.file.Path file = pathToFile(name).toPath();
    java.nio.file.Path root = file.getParent();
    while (root != null && !Files.isDirectory(parts(root), new LinkOption[0])) root = root.getParent();
    if (root == null) throw new IOException(name + ": is in no table of Hudi");
    java.nio.file.Path part = parts(root).resolve(PART + UUID.randomUUID());
    return new WholeFile(new FileOutputStream(part.toFile()), part, file, root);
  }
}

/** A file that gets its name when it is closed. */
class WholeFile extends FilterOutputStream {
  private final FileOutputStream file;
  private final java.nio.file.Path part;
  private final java.nio.file.Path name;
  private final java.nio.file.Path root;
  private boolean isClosed = false;

  WholeFile(FileOutputStream file, java.nio.file.Path part, java.nio.file.Path name, java.nio.file.Path root) {
    super(file);
    this.file = file;
    this.part = part;
    this.name = name;
    this.root = root;
  }

  public void write(byte[] data, int start, int length) throws IOException {
    file.write(data, start, length);
  }

  public void close() throws IOException {
    if (isClosed) return;
    isClosed = true;
    // Markers say what a commit under way has written: after a loss of power there are neither.
    boolean lasts = !name.startsWith(root.resolve(".hoodie").resolve(".temp"));
    if (lasts) file.getFD().sync();
    file.close();
    Files.move(part, name, new CopyOption[] {StandardCopyOption.ATOMIC_MOVE});
    for (java.nio.file.Path each = name.getParent(); lasts && each != null && each.startsWith(root); each = each.getParent()) {
      FileChannel folder = FileChannel.open(each, new OpenOption[] {StandardOpenOption.READ});
      try {
        folder.force(true);
      } finally {
        folder.close();
      }
    }
  }
}
