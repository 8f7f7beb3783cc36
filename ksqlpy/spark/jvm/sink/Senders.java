package ksqlpy.sink;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** The producers of this JVM, which Spark keeps when a query ends: what they have taken they go on sending. */
public final class Senders {
  private Senders() {}

  /** Whether the producers with this client id have sent all that they were given, by Kafka's own metrics. */
  public static boolean idle(String client) throws JMException {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    List<ObjectName> names = of(client);
    for (int i = 0; i < names.size(); i++) {
      // The bytes of a batch are free again when the brokers have answered.
      AttributeList found =
          beans.getAttributes(
              names.get(i), new String[] {"buffer-available-bytes", "buffer-total-bytes"});
      if (found.size() == 2 && value(found, 0) < value(found, 1)) {
        return false;
      }
    }
    return true;
  }

  /** The client ids of all producers that have something left to send. */
  public static Set<String> busy() throws JMException {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    Set<String> found = new TreeSet<>();
    for (ObjectName name : beans.queryNames(new ObjectName("kafka.producer:type=producer-metrics,*"), null)) {
      String id = name.getKeyProperty("client-id");
      String client = id.startsWith("\"") ? ObjectName.unquote(id) : id;
      if (!found.contains(client) && !idle(client)) {
        found.add(client);
      }
    }
    return found;
  }

  private static List<ObjectName> of(String client) throws JMException {
    List<ObjectName> found = new ArrayList<>();
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    for (ObjectName name : beans.queryNames(new ObjectName("kafka.producer:type=producer-metrics,*"), null)) {
      String id = name.getKeyProperty("client-id");
      if (client.equals(id) || ObjectName.quote(client).equals(id)) {
        found.add(name);
      }
    }
    return found;
  }

  private static double value(AttributeList of, int index) {
    return ((Number) ((Attribute) of.get(index)).getValue()).doubleValue();
  }
}
