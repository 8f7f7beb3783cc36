package ksqlpy.internals;

import java.util.List;
import scala.collection.immutable.List$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Scala's collections from Java's. */
public final class Scala {
  private Scala() {}

  public static <T> Seq<T> seq(List<T> items) {
    return List$.MODULE$.from(CollectionConverters.asScala(items));
  }

  public static <T> List<T> list(Seq<T> items) {
    return CollectionConverters.asJava(items);
  }

  @SuppressWarnings("unchecked") // the empty map is one of any types
  public static <K, V> Map<K, V> map() {
    return (Map<K, V>) Map$.MODULE$.empty();
  }
}
