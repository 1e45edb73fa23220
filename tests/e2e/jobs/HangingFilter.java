import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;

/** A filter of Spark's web interface that never ends, so that {@code SparkContext.stop} hangs. */
public final class HangingFilter implements Filter {
  @Override
  public void init(FilterConfig configuration) {}

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws java.io.IOException, ServletException {
    chain.doFilter(request, response);
  }

  @Override
  public void destroy() {
    while (true) {
      try {
        Thread.sleep(Long.MAX_VALUE);
      } catch (InterruptedException ignored) {
        // It ignores interrupts, as a hung call to a remote service does.
      }
    }
  }
}
