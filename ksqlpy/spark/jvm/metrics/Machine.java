package ksqlpy.metrics;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.LinkedHashMap;
import java.util.Map;

/** What this JVM itself takes. */
final class Machine {
  private Machine() {}

  /** Bytes of the heap, and how often and for how many ms in all it was collected. */
  static Map<String, Long> figures() {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    long collections = 0;
    long paused = 0;
    for (GarbageCollectorMXBean each : ManagementFactory.getGarbageCollectorMXBeans()) {
      collections += Math.max(0, each.getCollectionCount());
      paused += Math.max(0, each.getCollectionTime());
    }
    Map<String, Long> found = new LinkedHashMap<>();
    found.put("heapUsed", Long.valueOf(heap.getUsed()));
    found.put("heapMax", Long.valueOf(heap.getMax()));
    found.put("collections", Long.valueOf(collections));
    found.put("collectionMs", Long.valueOf(paused));
    return found;
  }
}
