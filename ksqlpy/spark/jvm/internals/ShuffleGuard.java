package ksqlpy.internals;

import io.netty.channel.Channel;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientBootstrap;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.crypto.AuthClientBootstrap;
import org.apache.spark.network.crypto.AuthServerBootstrap;
import org.apache.spark.network.server.AbstractAuthRpcHandler;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.StreamManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.util.Utils;

/**
 * The ports of the shuffle of real-time mode: on one machine they are reached from there only, and with {@code
 * spark.authenticate} by those who know its secret. Spark opens them on all addresses, and asks nobody.
 *
 * <p>It may be loaded where none of our classes is seen, see {@link Changed}: so it uses none, and is one class. An
 * instance is what adds the login to new connections, or what takes the messages of one.
 */
public final class ShuffleGuard extends RpcHandler implements TransportServerBootstrap, TransportClientBootstrap {
  private final TransportConf conf;
  private final RpcHandler handler;

  private ShuffleGuard(TransportConf conf, RpcHandler handler) {
    this.conf = conf;
    this.handler = handler;
  }

  private static SecurityManager security() {
    return SparkEnv.get().securityManager();
  }

  private static boolean asksForSecret() {
    return SparkEnv.get().conf().getBoolean("spark.authenticate", false);
  }

  /** The server of a task that writes. */
  public static TransportServer server(TransportContext context) throws IOException {
    String host = Utils.localCanonicalHostName();
    boolean here = InetAddress.getByName(host).isLoopbackAddress();
    TransportServerBootstrap login = new ShuffleGuard(context.getConf(), null);
    List<TransportServerBootstrap> logins = asksForSecret() ? List.of(login) : List.of();
    return context.createServer(here ? host : null, 0, logins);
  }

  /** The connections of a task that reads. */
  public static TransportClientFactory clients(TransportContext context) {
    TransportClientBootstrap login = new ShuffleGuard(context.getConf(), null);
    List<TransportClientBootstrap> logins = asksForSecret() ? List.of(login) : List.of();
    return context.createClientFactory(logins);
  }

  @Override
  public RpcHandler doBootstrap(Channel channel, RpcHandler to) {
    return new ShuffleGuard(conf, new AuthServerBootstrap(conf, security()).doBootstrap(channel, to));
  }

  @Override
  public void doBootstrap(TransportClient client, Channel channel) {
    new AuthClientBootstrap(conf, SparkEnv.get().conf().getAppId(), security()).doBootstrap(client, channel);
    channel.pipeline().fireChannelActive(); // what a reader says first was said ahead of the login
  }

  @Override
  public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
    handler.receive(client, message, callback);
  }

  @Override
  public void receive(TransportClient client, ByteBuffer message) {
    if (!(handler instanceof AbstractAuthRpcHandler) || ((AbstractAuthRpcHandler) handler).isAuthenticated()) {
      handler.receive(client, message);
    }
  }

  @Override
  public StreamManager getStreamManager() {
    return handler.getStreamManager();
  }

  @Override
  public void channelActive(TransportClient client) {
    handler.channelActive(client);
  }

  @Override
  public void channelInactive(TransportClient client) {
    handler.channelInactive(client);
  }

  @Override
  public void exceptionCaught(Throwable problem, TransportClient client) {
    handler.exceptionCaught(problem, client);
  }
}
