import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.PrintStream;
import java.util.TreeMap;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.kubernetes.operator.api.FlinkDeployment;
import org.apache.flink.kubernetes.operator.config.FlinkConfigManager;

/**
 * Reads one FlinkDeployment in JSON per line, and prints for each a line with the Flink options that the operator gives
 * to the job manager, as a JSON object.
 */
public class OperatorOptions {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        // The operator logs to standard output.
        System.setOut(System.err);
        FlinkConfigManager operator = new FlinkConfigManager(new Configuration());
        for (String line : new String(System.in.readAllBytes()).split("\n")) {
            FlinkDeployment deployment = Serialization.unmarshal(line, FlinkDeployment.class);
            Configuration options = operator.getDeployConfig(deployment.getMetadata(), deployment.getSpec());
            // The serialiser may write several lines.
            out.println(Serialization.asJson(new TreeMap<>(options.toMap())).replace("\n", ""));
        }
        // The operator's configuration starts a thread that would keep the process running.
        System.exit(0);
    }
}
