package ksqlpy.internals;

import java.util.List;
import scala.collection.immutable.List$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Scala's collections from Java's. */
final class Scala {
  private Scala() {}

  static <T> Seq<T> seq(List<T> items) {
    return List$.MODULE$.from(CollectionConverters.asScala(items));
  }

  static <T> List<T> list(Seq<T> items) {
    return CollectionConverters.asJava(items);
  }

  @SuppressWarnings("unchecked") // the empty map is one of any types
  static <K, V> Map<K, V> map() {
    return (Map<K, V>) Map$.MODULE$.empty();
  }
}
