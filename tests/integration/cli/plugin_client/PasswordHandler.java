import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;

/** Logs in with a password; compiled for Apache Kafka's own package names, as MSK's handler is. */
public final class PasswordHandler implements AuthenticateCallbackHandler {
  private Map<String, ?> options;

  @Override
  public void configure(
      Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
    options = entries.get(0).getOptions();
  }

  @Override
  public void handle(Callback[] callbacks) {
    for (Callback each : callbacks) {
      if (each instanceof NameCallback) {
        ((NameCallback) each).setName((String) options.get("handler_user"));
      } else {
        ((PasswordCallback) each)
            .setPassword(((String) options.get("handler_password")).toCharArray());
      }
    }
  }

  @Override
  public void close() {}
}
