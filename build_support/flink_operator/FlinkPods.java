import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.flink.client.deployment.ClusterSpecification;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.DeploymentOptionsInternal;
import org.apache.flink.kubernetes.configuration.KubernetesConfigOptionsInternal;
import org.apache.flink.kubernetes.entrypoint.KubernetesApplicationClusterEntrypoint;
import org.apache.flink.kubernetes.kubeclient.FlinkPod;
import org.apache.flink.kubernetes.kubeclient.factory.KubernetesJobManagerFactory;
import org.apache.flink.kubernetes.kubeclient.factory.KubernetesTaskManagerFactory;
import org.apache.flink.kubernetes.kubeclient.parameters.KubernetesJobManagerParameters;
import org.apache.flink.kubernetes.kubeclient.parameters.KubernetesTaskManagerParameters;
import org.apache.flink.kubernetes.shaded.io.fabric8.kubernetes.api.model.Pod;
import org.apache.flink.kubernetes.shaded.io.fabric8.kubernetes.client.utils.Serialization;
import org.apache.flink.runtime.clusterframework.ContaineredTaskManagerParameters;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessUtils;

/**
 * Builds the pods of Flink clusters with Flink's own code. The first argument is Flink's configuration folder. Reads
 * one JSON object per line with {@code options} and the pod templates {@code jobManager} and {@code taskManager}.
 * Prints for each a line with both pods and the options that Flink does not know, or with the error.
 */
public class FlinkPods {
    private static final List<String> OPTIONS = List.of(
            "configuration.BlobServerOptions", "configuration.CheckpointingOptions", "configuration.CoreOptions",
            "configuration.DeploymentOptions", "configuration.ExecutionOptions",
            "configuration.HighAvailabilityOptions", "configuration.JobManagerOptions", "configuration.MetricOptions",
            "configuration.PipelineOptions", "configuration.ResourceManagerOptions",
            "configuration.RestartStrategyOptions", "configuration.RestOptions",
            "configuration.StateBackendOptions", "configuration.TaskManagerOptions", "configuration.WebOptions",
            "kubernetes.configuration.KubernetesConfigOptions", "python.PythonOptions",
            "state.rocksdb.RocksDBOptions");

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        for (String line : new String(System.in.readAllBytes()).split("\n")) {
            Map<String, Object> output = new TreeMap<>();
            try {
                build(Serialization.unmarshal(line, Map.class), arguments[0], output);
            } catch (IllegalArgumentException error) {
                output.put("error", String.valueOf(error.getMessage()));
            }
            // The serialiser may write several lines.
            out.println(Serialization.asJson(output).replace("\n", ""));
        }
        System.exit(0);
    }

    @SuppressWarnings("unchecked")
    private static void build(Map<String, Object> input, String folder, Map<String, Object> output) throws Exception {
        Configuration options = Configuration.fromMap((Map<String, String>) input.get("options"));
        output.put("unknown", unknown(options));
        options.set(DeploymentOptionsInternal.CONF_DIR, folder);
        options.set(
                KubernetesConfigOptionsInternal.ENTRY_POINT_CLASS,
                KubernetesApplicationClusterEntrypoint.class.getName());
        output.put("jobManager", jobManager(options, template(input.get("jobManager"))));
        output.put("taskManager", taskManager(options, template(input.get("taskManager"))));
    }

    private static Object jobManager(Configuration options, FlinkPod template) throws Exception {
        ClusterSpecification size =
                new ClusterSpecification.ClusterSpecificationBuilder().setMasterMemoryMB(1600).createClusterSpecification();
        return KubernetesJobManagerFactory.buildKubernetesJobManagerSpecification(
                        template, new KubernetesJobManagerParameters(options, size))
                .getDeployment()
                .getSpec()
                .getTemplate();
    }

    private static Object taskManager(Configuration options, FlinkPod template) {
        ContaineredTaskManagerParameters size = ContaineredTaskManagerParameters.create(
                options, TaskExecutorProcessUtils.processSpecFromConfig(options));
        return KubernetesTaskManagerFactory.buildTaskManagerKubernetesPod(
                        template,
                        new KubernetesTaskManagerParameters(
                                options, "taskmanager-1", "", "", size, Map.of(), Set.of()))
                .getInternalResource();
    }

    private static FlinkPod template(Object pod) {
        Pod rest = Serialization.unmarshal(Serialization.asJson(pod), Pod.class);
        var main = rest.getSpec().getContainers().remove(0);
        return new FlinkPod.Builder().withPod(rest).withMainContainer(main).build();
    }

    /** Returns the names that are no option, and fails if an option has an invalid value. */
    private static Set<String> unknown(Configuration options) throws ReflectiveOperationException {
        Set<String> names = new TreeSet<>(options.keySet());
        for (String holder : OPTIONS) {
            for (var field : Class.forName("org.apache.flink." + holder).getFields()) {
                if (field.get(null) instanceof ConfigOption<?> option && names.remove(option.key())) {
                    options.get(option);
                }
            }
        }
        return names;
    }
}
