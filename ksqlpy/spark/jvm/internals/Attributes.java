package ksqlpy.internals;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructField;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** Columns of plans. */
final class Attributes {
  private Attributes() {}

  /** A new column, which is another one than all of the same name. */
  static AttributeReference of(StructField field) {
    return DataTypeUtils.toAttribute(field);
  }

  /** Those of some, and others behind them. */
  static Seq<Attribute> together(Seq<Attribute> first, Seq<Attribute> others) {
    List<Attribute> all = new ArrayList<>(Scala.list(first));
    all.addAll(Scala.list(others));
    return Scala.seq(all);
  }

  /** Those with one of the names. */
  static AttributeSet named(AttributeSet all, Collection<String> names) {
    return all.filter(
        new AbstractFunction1<Attribute, Object>() {
          @Override
          public Object apply(Attribute each) {
            return Boolean.valueOf(names.contains(each.name()));
          }
        });
  }
}
