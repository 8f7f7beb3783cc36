package ksqlpy.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The folder of {@link SharedCode}: packed code, a file each. Without it, code is compiled again after a restart. */
final class CodeFiles {
  private static final Logger LOG = LoggerFactory.getLogger(CodeFiles.class);

  /** What is not written yet has this at the end of its name. */
  private static final String NEW = ".new";

  private final Path folder;

  /** {@code folder}: created if there is none; null: nothing is kept. */
  CodeFiles(String folder) {
    this.folder = folder == null ? null : Path.of(folder);
  }

  /** Packed code by name, at most so many, oldest first; older files are removed. */
  Map<String, byte[]> read(int most) {
    Map<String, byte[]> found = new LinkedHashMap<>();
    if (folder == null) {
      return found;
    }
    try {
      Files.createDirectories(folder);
      List<Path> files;
      try (Stream<Path> all = Files.list(folder)) {
        files = new ArrayList<>(all.toList());
      }
      files.sort(Comparator.comparingLong(file -> file.toFile().lastModified()));
      for (int i = 0; i < files.size(); i++) {
        String name = files.get(i).getFileName().toString();
        if (i < files.size() - most || name.endsWith(NEW)) {
          Files.deleteIfExists(files.get(i));
        } else {
          found.put(name, Files.readAllBytes(files.get(i)));
        }
      }
    } catch (IOException e) {
      LOG.warn("generated code in {}: {}", folder, e.toString());
    }
    return found;
  }

  void write(String name, byte[] packed) {
    if (folder == null) {
      return;
    }
    try {
      Path written = Files.write(folder.resolve(name + NEW), packed);
      Files.move(written, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      LOG.warn("generated code in {}: {}", folder, e.toString());
    }
  }

  void remove(String name) {
    if (folder == null) {
      return;
    }
    try {
      Files.deleteIfExists(folder.resolve(name));
    } catch (IOException e) {
      LOG.warn("generated code in {}: {}", folder, e.toString());
    }
  }
}
