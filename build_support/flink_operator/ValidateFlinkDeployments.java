import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.PrintStream;
import java.util.TreeSet;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.kubernetes.operator.api.FlinkDeployment;
import org.apache.flink.kubernetes.operator.config.FlinkConfigManager;
import org.apache.flink.kubernetes.operator.config.KubernetesOperatorConfigOptions;
import org.apache.flink.kubernetes.operator.validation.DefaultValidator;

/**
 * Reads one FlinkDeployment in JSON per line, and prints the result of the operator's validator for each, as
 * "result " and the error, if there is one. With the argument --options it prints the names of the operator's options.
 */
public class ValidateFlinkDeployments {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        // The operator logs to standard output.
        System.setOut(System.err);
        if (arguments.length > 0 && arguments[0].equals("--options")) {
            optionNames().forEach(out::println);
            return;
        }
        DefaultValidator validator = new DefaultValidator(new FlinkConfigManager(new Configuration()));
        for (String line : new String(System.in.readAllBytes()).split("\n")) {
            FlinkDeployment deployment = Serialization.unmarshal(line, FlinkDeployment.class);
            out.println("result " + validator.validateDeployment(deployment).orElse(""));
        }
        // The operator's configuration starts a thread that would keep the process running.
        System.exit(0);
    }

    private static TreeSet<String> optionNames() throws IllegalAccessException {
        TreeSet<String> names = new TreeSet<>();
        for (var field : KubernetesOperatorConfigOptions.class.getFields()) {
            if (field.get(null) instanceof ConfigOption<?> option) {
                names.add(option.key());
            }
        }
        return names;
    }
}
