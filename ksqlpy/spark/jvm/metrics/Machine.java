package ksqlpy.metrics;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.LinkedHashMap;
import java.util.Map;

/** What this JVM itself takes. */
final class Machine {
  private Machine() {}

  /** Bytes of the heap, how often and for how many ms in all it was collected; threads, and ms of processors. */
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
    found.put("threads", Long.valueOf(ManagementFactory.getThreadMXBean().getThreadCount()));
    found.put("cpuMs", cpu());
    return found;
  }

  /** The ms that processors have worked; null where the system does not tell. */
  private static Long cpu() {
    if (!(ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system)) {
      return null;
    }
    long nanos = system.getProcessCpuTime();
    return nanos < 0 ? null : Long.valueOf(nanos / 1_000_000);
  }
}
