package ksqlpy.state;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Hadoop's local file system, without a process for every file.
 *
 * <p>Without its native library, which PySpark does not bring, Hadoop runs {@code chmod} for each file and folder that
 * it makes. A checkpoint makes many, and no result leaves a query meanwhile. Java sets permissions by itself.
 *
 * <p>It writes {@code .crc} files for the logs of offsets and commits only, a few lines each, without which a query would
 * go on from somewhere else; they are never replaced. RocksDB's files, snapshots and changelogs hold checksums of their
 * own, and one more file to make and to rename for each of them costs time. A {@code .crc} that lies beside a file is
 * verified, and goes when that file is replaced.
 */
public final class LocalFiles extends LocalFileSystem {
  private final LocalFileSystem checked = new LocalFileSystem(new Raw());

  public LocalFiles() {
    super(new Raw());
    setWriteChecksum(false);
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    checked.initialize(name, conf);
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int buffer,
      short replication,
      long block,
      Progressable progress)
      throws IOException {
    String folder = path.getParent() == null ? "" : path.getParent().getName();
    if (folder.equals("offsets") || folder.equals("commits")) {
      return checked.create(path, permission, overwrite, buffer, replication, block, progress);
    }
    return super.create(path, permission, overwrite, buffer, replication, block, progress);
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      // Java has no name for the sticky bit.
      if (permission.getStickyBit()) {
        super.setPermission(path, permission);
        return;
      }
      String symbols =
          permission.getUserAction().SYMBOL + permission.getGroupAction().SYMBOL + permission.getOtherAction().SYMBOL;
      Set<PosixFilePermission> wanted = PosixFilePermissions.fromString(symbols);
      try {
        Files.setPosixFilePermissions(pathToFile(path).toPath(), wanted);
      } catch (NoSuchFileException e) {
        throw new FileNotFoundException("File " + path + " does not exist");
      } catch (UnsupportedOperationException e) {
        super.setPermission(path, permission);
      }
    }
  }
}
