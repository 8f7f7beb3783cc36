package ksqlpy.speedups;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import ksqlpy.internals.Scala;
import org.apache.spark.sql.execution.streaming.state.RocksDBCheckpointMetadata;
import org.apache.spark.sql.execution.streaming.state.RocksDBLogFile;
import org.apache.spark.sql.execution.streaming.state.RocksDBSstFile;

/** The files in which Spark keeps states. */
public final class StateFiles {
  private StateFiles() {}

  /**
   * Writes and reads the description of an invented state. For the first one in a JVM, json4s reads the signatures that
   * Scala keeps in classes, which takes a second. Tasks that start together all do it.
   */
  public static void prepare() throws IOException {
    Path folder = Files.createTempDirectory("ksqlpy");
    File file = folder.resolve("metadata").toFile();
    try {
      RocksDBCheckpointMetadata.apply(
              Scala.seq(List.of(new RocksDBSstFile("1.sst", "1.sst", 1))),
              Scala.seq(List.of(new RocksDBLogFile("1.log", "1.log", 1))),
              1,
              1,
              Scala.map(),
              Scala.map(),
              (short) 1)
          .writeToFile(file);
      RocksDBCheckpointMetadata.readFromFile(file);
    } finally {
      Files.deleteIfExists(file.toPath());
      Files.deleteIfExists(folder);
    }
  }
}
