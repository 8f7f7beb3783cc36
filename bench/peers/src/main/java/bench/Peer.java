package bench;

import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * One job of bench/jobs.py as a Kafka Streams program: the same topics, the same values in and out.
 *
 * <p>Arguments: bootstrap servers, name of the job, suffix of its source topics, sink topic, processing guarantee,
 * commit interval and linger (both in ms). Prints RUNNING once it processes records; ends on SIGTERM.
 */
public final class Peer {
  private static final Serde<String> KEY = Serdes.String();

  private Peer() {}

  public static void main(String[] args) throws InterruptedException {
    if (args.length != 7) {
      System.err.println("arguments: BOOTSTRAP JOB SUFFIX SINK GUARANTEE COMMIT_MS LINGER_MS");
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
    // With a cache only the last change of a key between two commits would come out.
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");

    KafkaStreams streams = new KafkaStreams(builder.build(), settings);
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
    KStream<String, Row> source = builder.stream("bench_s" + suffix, Consumed.with(KEY, new Row.Json("V", "T")));
    switch (job) {
      case "filter + project" ->
          source
              .filter((key, row) -> row != null && row.v() != null && row.v() >= 0)
              .to(sink, Produced.with(KEY, new Row.Json("V", "T")));
      case "GROUP BY" ->
          source
              .groupByKey(Grouped.with(KEY, new Row.Json("V", "T")))
              .aggregate(
                  () -> new Row(null, null, 0L, null),
                  (key, row, sum) -> new Row(null, larger(row.t(), sum.t()), sum.n() + 1, null),
                  Materialized.with(KEY, new Row.Json("N", "T")))
              .toStream()
              .to(sink, Produced.with(KEY, new Row.Json("N", "T")));
      case "stream-table join" ->
          source
              .join(
                  builder.table("bench_d" + suffix, Consumed.with(KEY, new Row.Json("NAME"))),
                  (row, known) -> new Row(row.v(), row.t(), null, known.name()))
              .to(sink, Produced.with(KEY, new Row.Json("V", "T", "NAME")));
      default -> throw new IllegalArgumentException("there is no job " + job);
    }
  }

  private static Double larger(Double a, Double b) {
    return a == null ? b : b == null ? a : Double.valueOf(Math.max(a, b));
  }
}
