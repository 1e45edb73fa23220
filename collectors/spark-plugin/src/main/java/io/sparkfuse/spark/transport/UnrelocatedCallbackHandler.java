package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.PluginLog;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;

/**
 * Calls a SASL callback handler that was compiled for Apache Kafka's own package names, such as the
 * handler of MSK IAM. The plugin's Kafka client has other package names, so it cannot call such a
 * handler itself. The callbacks themselves must not be classes of Kafka.
 */
public abstract class UnrelocatedCallbackHandler implements AuthenticateCallbackHandler {
  /** Prefix of the property that names the handler of the owner. */
  private static final String OWNERS = "sparkfuse.";

  private final String property;
  private CallbackHandler handler;

  private UnrelocatedCallbackHandler(String property) {
    this.property = property;
  }

  /** The handler of {@code sasl.client.callback.handler.class}. */
  public static final class Client extends UnrelocatedCallbackHandler {
    static final String PROPERTY = "sasl.client.callback.handler.class";

    /** Called by the Kafka client. */
    public Client() {
      super(PROPERTY);
    }
  }

  /** The handler of {@code sasl.login.callback.handler.class}. */
  public static final class Login extends UnrelocatedCallbackHandler {
    static final String PROPERTY = "sasl.login.callback.handler.class";

    /** Called by the Kafka client. */
    public Login() {
      super(PROPERTY);
    }
  }

  /** Replaces each handler that the Kafka client cannot call by an instance of this class. */
  static void install(Properties properties) {
    replace(properties, Client.PROPERTY, Client.class);
    replace(properties, Login.PROPERTY, Login.class);
  }

  private static void replace(
      Properties properties, String property, Class<? extends UnrelocatedCallbackHandler> by) {
    String named = properties.getProperty(property);
    if (named != null && !isOwn(named)) {
      properties.put(OWNERS + property, named);
      properties.put(property, by.getName());
    }
  }

  private static boolean isOwn(String named) {
    try {
      return AuthenticateCallbackHandler.class.isAssignableFrom(load(named));
    } catch (ClassNotFoundException | LinkageError unusable) {
      return false; // configure() reports the cause
    }
  }

  private static Class<?> load(String named) throws ClassNotFoundException {
    return Class.forName(named.trim(), true, UnrelocatedCallbackHandler.class.getClassLoader());
  }

  @Override
  public void configure(
      Map<String, ?> configs, String saslMechanism, List<AppConfigurationEntry> entries) {
    Object named = configs.get(OWNERS + property);
    try {
      Class<?> type = load(String.valueOf(named));
      handler = (CallbackHandler) type.getDeclaredConstructor().newInstance();
      type.getMethod("configure", Map.class, String.class, List.class)
          .invoke(handler, configs, saslMechanism, entries);
    } catch (ReflectiveOperationException | ClassCastException | LinkageError unusable) {
      throw new ConfigException(property, named, "the class cannot be used: " + unusable);
    }
  }

  @Override
  public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
    handler.handle(callbacks);
  }

  @Override
  public void close() {
    try {
      if (handler instanceof Closeable) {
        ((Closeable) handler).close();
      }
    } catch (IOException unclosed) { // the client is closing too; the handler holds nothing of ours
      PluginLog.warnOncePerMinute("the callback handler cannot be closed", unclosed);
    }
  }
}
