package org.apache.spark.sql.execution.streaming.operators.stateful;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * What {@code ksqlpy.internals.StepExec} needs of Spark's operator of this name, for the compiler alone: javac refuses
 * to extend the real one, since Scala's traits leave methods in it without their generic types. It is not packed; at
 * run time the class is Spark's. {@code tests/jvm/test_spark_internals.py} holds these members against it.
 */
@SuppressWarnings("serial")
public class StreamingGlobalLimitExec extends SparkPlan {
  public StreamingGlobalLimitExec(
      long limit, SparkPlan child, Option<StatefulOperatorStateInfo> stateInfo, Option<OutputMode> outputMode) {}

  public StreamingGlobalLimitExec copy(
      long limit, SparkPlan child, Option<StatefulOperatorStateInfo> stateInfo, Option<OutputMode> outputMode) {
    throw new UnsupportedOperationException();
  }

  public StreamingGlobalLimitExec withNewChildInternal(SparkPlan child) {
    throw new UnsupportedOperationException();
  }

  public SparkPlan child() {
    throw new UnsupportedOperationException();
  }

  public Option<StatefulOperatorStateInfo> stateInfo() {
    throw new UnsupportedOperationException();
  }

  public Option<OutputMode> outputMode() {
    throw new UnsupportedOperationException();
  }

  public StatefulOperatorStateInfo getStateInfo() {
    throw new UnsupportedOperationException();
  }

  public void setStoreMetrics(StateStore store, boolean checkpointInfo) {
    throw new UnsupportedOperationException();
  }

  public void setOperatorMetrics(int stores) {
    throw new UnsupportedOperationException();
  }

  public String shortName() {
    throw new UnsupportedOperationException();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Seq<Attribute> output() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Partitioning outputPartitioning() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Seq<SparkPlan> children() {
    throw new UnsupportedOperationException();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    throw new UnsupportedOperationException();
  }

  @Override
  public int productArity() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Object productElement(int index) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean canEqual(Object other) {
    throw new UnsupportedOperationException();
  }
}
