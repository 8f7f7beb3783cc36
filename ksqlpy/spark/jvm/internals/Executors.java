package ksqlpy.internals;

import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.package$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;

/** What Spark knows of the executors of a cluster: in the driver who comes and goes, in an executor what it is. */
public final class Executors {
  private Executors() {}

  /** Tells the ids of executors that come and go from now on. */
  public static void watch(SparkContext spark, Consumer<String> joined, Consumer<String> left) {
    spark.addSparkListener(
        new SparkListener() {
          @Override
          public void onExecutorAdded(SparkListenerExecutorAdded added) {
            joined.accept(added.executorId());
          }

          @Override
          public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
            left.accept(removed.executorId());
          }
        });
  }

  /** How many tasks the executors that are there can run at once. */
  public static int slots(SparkContext spark) {
    return spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile());
  }

  /** Host and port at which other executors reach this one. */
  public static String address() {
    BlockManagerId place = SparkEnv.get().blockManager().blockManagerId();
    return place.host() + ":" + place.port();
  }

  /** The version of Spark in this JVM. */
  public static String version() {
    return package$.MODULE$.SPARK_VERSION();
  }

  /** The settings of Hadoop's file systems that an executor has from the session. */
  public static Configuration files() {
    Configuration made = new Configuration();
    for (Tuple2<String, String> each : SparkEnv.get().conf().getAllWithPrefix("spark.hadoop.")) {
      made.set(each._1(), each._2());
    }
    return made;
  }
}
