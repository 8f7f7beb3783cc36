package ksqlpy.internals;

import java.util.List;
import org.apache.spark.shuffle.streaming.StreamingShuffleHandle;

/** What has to be there before a JVM runs its first query: {@link Unpacked} and {@link ShuffleGuard}. */
public final class Guards {
  private static final String NETWORK = "org/apache/spark/network/";

  private static final boolean SHUFFLES = guarded();

  private Guards() {}

  /** Whether all of them are; Kafka's clients and Spark's shuffle must not have been used. */
  public static boolean begin() {
    return Unpacked.isInstalled() && SHUFFLES;
  }

  /** Whether the ports of the shuffle ask for a secret where there is one. */
  static boolean guardsShuffles() {
    return SHUFFLES;
  }

  private static boolean guarded() {
    Changed.Call server =
        new Changed.Call(NETWORK + "TransportContext.createServer()L" + NETWORK + "server/TransportServer;", "server");
    Changed.Call clients =
        new Changed.Call(
            NETWORK + "TransportContext.createClientFactory()L" + NETWORK + "client/TransportClientFactory;", "clients");
    String writer = "org.apache.spark.shuffle.streaming.StreamingShuffleWriter";
    String reader = "org.apache.spark.shuffle.streaming.StreamingShuffleReader";
    String manager = "org.apache.spark.shuffle.streaming.StreamingShuffleManager";
    Class<?> beside = StreamingShuffleHandle.class;
    boolean changed =
        Changed.load(beside, writer, "", ShuffleGuard.class, List.of(server))
            && Changed.load(beside, reader, "", ShuffleGuard.class, List.of(clients));
    // The manager stays as it is, but a class that is defined here is in no archive of classes. Those of an archive
    // Java links ahead of all else; to check the manager, which gives a writer, it would load the writer.
    Changed.load(beside, manager, "", ShuffleGuard.class, List.of());
    return changed;
  }
}
