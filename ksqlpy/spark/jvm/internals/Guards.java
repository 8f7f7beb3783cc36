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
    Class<?> beside = StreamingShuffleHandle.class;
    return Changed.load(beside, writer, "", ShuffleGuard.class, List.of(server))
        && Changed.load(beside, reader, "", ShuffleGuard.class, List.of(clients));
  }
}
