package ksqlpy.internals;

import java.util.HashSet;
import java.util.Set;
import ksqlpy.state.Expiry;
import ksqlpy.tasks.Attempts;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.ReadStateStore;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateSchemaProvider;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreCheckpointInfo;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.StateStoreMetrics;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;

/**
 * State in RocksDB whose expired keys go, see {@link Expiry}: Spark's aggregates keep what they have of a key for ever,
 * and real-time mode has no other stateful step that a plan can be composed of.
 *
 * <p>Expired keys go at the commit, not at once: a recovery starts from a commit, and until the next one rows say what
 * they had seen of them, too. They are remembered until then; if they are very many, all of the state is looked through
 * instead.
 */
public class ExpiringState extends RocksDBStateStoreProvider {
  private static final int REMEMBERED = 200_000;

  private Expiry expiry = Expiry.of(new StructType());

  @Override
  public void init(
      StateStoreId id,
      StructType key,
      StructType value,
      KeyStateEncoderSpec encoder,
      boolean families,
      StateStoreConf conf,
      Configuration hadoop,
      boolean several,
      Option<StateSchemaProvider> schemas) {
    super.init(id, key, value, encoder, families, conf, hadoop, several, schemas);
    expiry = Expiry.of(value);
  }

  @Override
  public StateStore getStore(long version, Option<String> id, boolean snapshot, boolean empty) {
    return expiring(super.getStore(version, id, snapshot, empty));
  }

  @Override
  public StateStore upgradeReadStoreToWriteStore(
      ReadStateStore read, long version, Option<String> id, boolean snapshot) {
    return expiring(super.upgradeReadStoreToWriteStore(read, version, id, snapshot));
  }

  private StateStore expiring(StateStore store) {
    Attempts.first(); // rows that the attempt before took in would be taken again
    return expiry.isNever() ? store : new Store(store, expiry, REMEMBERED);
  }

  /** A store of Spark's with the expired keys of this batch. */
  static final class Store implements StateStore {
    private final StateStore store;
    private final Expiry expiry;
    private final int remembered;
    private final Set<UnsafeRow> expired = new HashSet<>();
    private String family;
    private boolean tooMany;

    /** {@code remembered}: how many expired keys it keeps in mind; with more it looks through the state. */
    Store(StateStore store, Expiry expiry, int remembered) {
      this.store = store;
      this.expiry = expiry;
      this.remembered = remembered;
    }

    @Override
    public void put(UnsafeRow key, UnsafeRow value, String family) {
      if (!expiry.isChanged(value)) {
        return;
      }
      store.put(key, value, family);
      this.family = family;
      if (tooMany) {
        return;
      }
      if (!expiry.isExpired(value)) {
        if (!expired.isEmpty()) {
          expired.remove(key);
        }
      } else if (expired.size() < remembered) {
        expired.add(key.copy());
      } else {
        tooMany = true;
        expired.clear();
      }
    }

    @Override
    public long commit() {
      if (tooMany) {
        lookThrough();
      } else {
        for (UnsafeRow key : expired) {
          store.remove(key, family);
        }
      }
      return store.commit();
    }

    /** Removes expired keys as it finds them: RocksDB's iterator sees the state as it was when it began. */
    private void lookThrough() {
      StateStoreIterator<UnsafeRowPair> all = store.iterator(family);
      try {
        while (all.hasNext()) {
          UnsafeRowPair pair = all.next();
          if (expiry.isExpired(pair.value())) {
            store.remove(pair.key(), family);
          }
        }
      } finally {
        all.close();
      }
    }

    // All else is the store's.

    @Override
    public StateStoreId id() {
      return store.id();
    }

    @Override
    public long version() {
      return store.version();
    }

    @Override
    public UnsafeRow get(UnsafeRow key, String family) {
      return store.get(key, family);
    }

    @Override
    public Iterator<UnsafeRow> multiGet(UnsafeRow[] keys, String family) {
      return store.multiGet(keys, family);
    }

    @Override
    public boolean keyExists(UnsafeRow key, String family) {
      return store.keyExists(key, family);
    }

    @Override
    public Iterator<UnsafeRow> valuesIterator(UnsafeRow key, String family) {
      return store.valuesIterator(key, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> prefixScan(UnsafeRow prefix, String family) {
      return store.prefixScan(prefix, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> prefixScanWithMultiValues(UnsafeRow prefix, String family) {
      return store.prefixScanWithMultiValues(prefix, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> rangeScan(Option<UnsafeRow> from, Option<UnsafeRow> to, String family) {
      return store.rangeScan(from, to, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> rangeScanWithMultiValues(
        Option<UnsafeRow> from, Option<UnsafeRow> to, String family) {
      return store.rangeScanWithMultiValues(from, to, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> iterator(String family) {
      return store.iterator(family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> iteratorWithMultiValues(String family) {
      return store.iteratorWithMultiValues(family);
    }

    @Override
    public scala.collection.immutable.Set<String> allColumnFamilyNames() {
      return store.allColumnFamilyNames();
    }

    @Override
    public void registerColFamily(
        String name, StructType key, StructType value, KeyStateEncoderSpec encoder, boolean several, boolean internal) {
      store.registerColFamily(name, key, value, encoder, several, internal);
    }

    @Override
    public boolean removeColFamilyIfExists(String name) {
      return store.removeColFamilyIfExists(name);
    }

    @Override
    public void createColFamilyIfAbsent(
        String name, StructType key, StructType value, KeyStateEncoderSpec encoder, boolean several, boolean internal) {
      store.createColFamilyIfAbsent(name, key, value, encoder, several, internal);
    }

    @Override
    public void putList(UnsafeRow key, UnsafeRow[] values, String family) {
      store.putList(key, values, family);
    }

    @Override
    public void remove(UnsafeRow key, String family) {
      store.remove(key, family);
    }

    @Override
    public void deleteRange(UnsafeRow from, UnsafeRow to, String family) {
      store.deleteRange(from, to, family);
    }

    @Override
    public void merge(UnsafeRow key, UnsafeRow value, String family) {
      store.merge(key, value, family);
    }

    @Override
    public void mergeList(UnsafeRow key, UnsafeRow[] values, String family) {
      store.mergeList(key, values, family);
    }

    @Override
    public void abort() {
      store.abort();
    }

    @Override
    public void release() {
      store.release();
    }

    @Override
    public StateStoreMetrics metrics() {
      return store.metrics();
    }

    @Override
    public StateStoreCheckpointInfo getStateStoreCheckpointInfo() {
      return store.getStateStoreCheckpointInfo();
    }

    @Override
    public boolean hasCommitted() {
      return store.hasCommitted();
    }
  }
}
