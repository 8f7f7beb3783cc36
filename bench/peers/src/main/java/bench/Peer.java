package bench;

import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.Stores;

/**
 * One job of bench/jobs.py as a Kafka Streams program: the same topics, the same values in and out.
 *
 * <p>Arguments: bootstrap servers, name of the job, suffix of its source topics, sink topic, processing guarantee,
 * commit interval and linger (both in ms), batch size (bytes). Prints RUNNING once it processes records; ends on
 * SIGTERM.
 */
public final class Peer {
  private static final Serde<String> KEY = Serdes.String();

  /** Of windows, in ms. */
  private static final long SIZE = 10_000;

  private static final long SHORT = 100;

  /** How long sessions are kept: gap and grace. */
  private static final Duration KEPT = Duration.ofSeconds(70);

  private Peer() {}

  public static void main(String[] args) throws InterruptedException {
    if (args.length != 8) {
      System.err.println("arguments: BOOTSTRAP JOB SUFFIX SINK GUARANTEE COMMIT_MS LINGER_MS BATCH");
      System.exit(2);
    }
    StreamsBuilder builder = new StreamsBuilder();
    build(builder, args[1], args[2], args[3]);

    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "peer-" + args[3]);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args[4]);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, args[5]);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), args[6]);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), args[7]);
    // With a cache only the last change of a key between two commits would come out.
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");

    // As ksqlDB sets it: a table's own topic serves as the changelog of its store.
    settings.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE);

    KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
    CountDownLatch failed = new CountDownLatch(1);
    streams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.RUNNING) {
            System.out.println("RUNNING");
          } else if (now == KafkaStreams.State.ERROR) {
            failed.countDown();
          }
        });
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
    failed.await();
    System.exit(1);
  }

  private static void build(StreamsBuilder builder, String job, String suffix, String sink) {
    Consumed<String, Row> rows = Consumed.with(KEY, new Row.Json("V", "T"));
    Produced<String, Row> counts = Produced.with(KEY, new Row.Json("N", "T"));
    Produced<String, Row> named = Produced.with(KEY, new Row.Json("V", "T", "NAME"));
    String source = "bench_s" + suffix;
    switch (job) {
      case "filter + project" ->
          builder.stream(source, rows)
              .filter((key, row) -> row != null && row.v() != null && row.v() >= 0)
              .to(sink, Produced.with(KEY, new Row.Json("V", "T")));
      case "GROUP BY" ->
          builder.stream(source, rows)
              .groupByKey(Grouped.with(KEY, new Row.Json("V", "T")))
              .aggregate(Peer::none, Peer::count, Materialized.with(KEY, new Row.Json("N", "T")))
              .toStream()
              .to(sink, counts);
      case "stream-table join" ->
          builder.stream(source, rows)
              .join(table(builder, "bench_d" + suffix), (row, d) -> row.named(d.name(), null))
              .to(sink, named);
      case "hopping count" ->
          builder.stream(source, rows)
              .groupByKey(Grouped.with(KEY, new Row.Json("V", "T")))
              .windowedBy(
                  TimeWindows.ofSizeAndGrace(Duration.ofMillis(SIZE), Duration.ofMinutes(1))
                      .advanceBy(Duration.ofMillis(SIZE / 2)))
              .aggregate(Peer::none, Peer::count, Materialized.with(KEY, new Row.Json("N", "T")))
              .toStream()
              .to(
                  sink,
                  Produced.with(
                      WindowedSerdes.timeWindowedSerdeFrom(String.class, SIZE), new Row.Json("N", "T")));
      case "session count" ->
          builder.stream(source, rows)
              .groupByKey(Grouped.with(KEY, new Row.Json("V", "T")))
              .windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(10), Duration.ofMinutes(1)))
              .aggregate(
                  Peer::none,
                  Peer::count,
                  (key, a, b) -> Row.counted(a.n() + b.n(), larger(a.t(), b.t())),
                  // In RocksDB each record leaves the session's row before as a deleted one, over which all later
                  // searches go: a million records take far longer than eight minutes.
                  Materialized.<String, Row>as(Stores.inMemorySessionStore("sessions", KEPT))
                      .withKeySerde(KEY)
                      .withValueSerde(new Row.Json("N", "T")))
              .toStream()
              .to(
                  sink,
                  Produced.with(WindowedSerdes.sessionWindowedSerdeFrom(String.class), new Row.Json("N", "T")));
      case "stream-stream join" ->
          builder.stream(source, rows)
              .join(
                  builder.stream("bench_r" + suffix, rows),
                  (left, right) -> left.at(right.t()),
                  JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(1), Duration.ofSeconds(10)),
                  StreamJoined.with(KEY, new Row.Json("V", "T"), new Row.Json("V", "T")))
              .to(sink, Produced.with(KEY, new Row.Json("V", "T")));
      case "stream-stream left join" ->
          builder.stream(source, rows)
              .leftJoin(
                  builder.stream("bench_r" + suffix, rows),
                  (left, right) -> left.at(right == null ? null : right.t()),
                  JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(1), Duration.ofSeconds(2)),
                  StreamJoined.with(KEY, new Row.Json("V", "T"), new Row.Json("V", "T")))
              .to(sink, Produced.with(KEY, new Row.Json("V", "T")));
      case "EMIT FINAL" ->
          builder.stream(source, rows)
              .groupByKey(Grouped.with(KEY, new Row.Json("V", "T")))
              .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMillis(SHORT)))
              .aggregate(Peer::none, Peer::count, Materialized.with(KEY, new Row.Json("N", "T")))
              .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
              .toStream()
              .mapValues((window, row) -> Row.counted(row.n(), window.window().end() / 1000.0))
              .to(
                  sink,
                  Produced.with(
                      WindowedSerdes.timeWindowedSerdeFrom(String.class, SHORT), new Row.Json("N", "T")));
      case "table-table join" ->
          builder.table(source, rows)
              .join(table(builder, "bench_d" + suffix), (row, d) -> row.named(d.name(), null))
              .toStream()
              .to(sink, named);
      case "table aggregate" ->
          builder.table(source, Consumed.with(KEY, new Row.Json("V", "T", "G")))
              .groupBy(
                  (key, row) -> KeyValue.pair(row.g(), row), Grouped.with(KEY, new Row.Json("V", "T", "G")))
              .aggregate(
                  () -> Row.summed(0L, 0L),
                  (key, row, sum) -> Row.summed(sum.n() + 1, sum.sum() + row.v()),
                  (key, row, sum) -> Row.summed(sum.n() - 1, sum.sum() - row.v()),
                  Materialized.with(KEY, new Row.Json("N", "SUM")))
              .toStream()
              .to(sink, Produced.with(KEY, new Row.Json("N", "SUM")));
      case "foreign-key join" ->
          builder.table(source, rows)
              .join(
                  table(builder, "bench_d" + suffix),
                  row -> "k" + row.v() % 50,
                  (row, d) -> row.named(d.name(), null),
                  Materialized.with(KEY, new Row.Json("V", "T", "NAME")))
              .toStream()
              .to(sink, named);
      case "three-way join" ->
          builder.stream(source, rows)
              .join(table(builder, "bench_d" + suffix), (row, d) -> row.named(d.name(), null))
              .join(table(builder, "bench_e" + suffix), (row, e) -> row.named(row.name(), e.name()))
              .to(sink, Produced.with(KEY, new Row.Json("V", "T", "NAME", "OTHER")));
      default -> throw new IllegalArgumentException("there is no job " + job);
    }
  }

  private static KTable<String, Row> table(StreamsBuilder builder, String topic) {
    return builder.table(topic, Consumed.with(KEY, new Row.Json("NAME")));
  }

  private static Row none() {
    return Row.counted(0L, null);
  }

  private static Row count(String key, Row row, Row sum) {
    return Row.counted(sum.n() + 1, larger(row.t(), sum.t()));
  }

  private static Double larger(Double a, Double b) {
    return a == null ? b : b == null ? a : Double.valueOf(Math.max(a, b));
  }
}
