package ksqlpy.clients;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Map;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/** TLS by the settings of Kafka's clients, for a client of HTTP; Kafka reads the stores. */
final class Tls {
  private Tls() {}

  static SSLContext context(Map<String, String> settings) throws GeneralSecurityException {
    ConfigDef names = new ConfigDef();
    SslConfigs.addClientSslSupport(names);
    Map<String, ?> read = new AbstractConfig(names, settings, false).values();
    try (DefaultSslEngineFactory factory = new DefaultSslEngineFactory()) {
      factory.configure(read);
      KeyManager[] own = null;
      KeyStore keys = factory.keystore();
      if (keys != null) {
        Password password = (Password) read.get(SslConfigs.SSL_KEY_PASSWORD_CONFIG);
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, password == null ? null : password.value().toCharArray());
        own = managers.getKeyManagers();
      }
      TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(factory.truststore()); // null: the authorities of this Java
      TrustManager[] trusted = managers.getTrustManagers();
      if (settings.getOrDefault(SslConfigs.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM_CONFIG, "https").isEmpty()) {
        for (int i = 0; i < trusted.length; i++) {
          trusted[i] = trusted[i] instanceof X509TrustManager each ? new OfAnyName(each) : trusted[i];
        }
      }
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(own, trusted, null);
      return context;
    }
  }

  /** Checks who signed a certificate, not for which host: Java's client of HTTP has that switch for a whole JVM only. */
  private static final class OfAnyName extends X509ExtendedTrustManager {
    private final X509TrustManager checks;

    private OfAnyName(X509TrustManager checks) {
      this.checks = checks;
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
      checks.checkServerTrusted(chain, type);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket on) throws CertificateException {
      checks.checkServerTrusted(chain, type);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine on) throws CertificateException {
      checks.checkServerTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
      checks.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket on) throws CertificateException {
      checks.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine on) throws CertificateException {
      checks.checkClientTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return checks.getAcceptedIssuers();
    }
  }
}
