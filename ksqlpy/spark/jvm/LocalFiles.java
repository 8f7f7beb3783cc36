package ksqlpy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, without a process for every file.
 *
 * <p>Without its native library, which PySpark does not bring, Hadoop runs {@code chmod} for each file and folder that
 * it makes. A checkpoint makes many, and no result leaves a query meanwhile. Java sets permissions by itself.
 *
 * <p>It writes no {@code .crc} files: one more to make and to rename for every file, and a kill between the two renames
 * makes a replaced file look damaged. RocksDB's files, snapshots and changelogs hold checksums of their own; the logs
 * of offsets and commits, a few lines each, are without one. A {@code .crc} that lies beside a file is still verified,
 * and goes when that file is replaced.
 */
public final class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new Raw());
    setWriteChecksum(false);
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
