import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerPlugin;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.broker.TransportConnection;
import org.apache.activemq.broker.TransportConnector;
import org.apache.activemq.broker.region.Destination;
import org.apache.activemq.broker.region.policy.PolicyEntry;
import org.apache.activemq.broker.region.policy.PolicyMap;
import org.apache.activemq.command.ActiveMQDestination;
import org.apache.activemq.command.ActiveMQQueue;
import org.apache.activemq.command.ActiveMQTopic;
import org.apache.activemq.command.SubscriptionInfo;
import org.apache.activemq.security.AuthenticationUser;
import org.apache.activemq.security.SimpleAuthenticationPlugin;
import org.apache.activemq.store.kahadb.KahaDBPersistenceAdapter;

/** ActiveMQ Classic with AMQP. */
public final class ClassicBroker {
    private ClassicBroker() {}

    /**
     * Runs until it is killed.
     *
     * @param arguments its folder, the port of AMQP and that of its control
     */
    public static void main(String[] arguments) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setBrokerName("classic");
        broker.setDataDirectoryFile(new File(arguments[0], "data"));
        KahaDBPersistenceAdapter store = new KahaDBPersistenceAdapter();
        store.setDirectory(new File(arguments[0], "data/store"));
        // What is written is there when the process is killed; power does not fail here.
        store.setJournalDiskSyncStrategy("never");
        broker.setPersistenceAdapter(store);
        PolicyEntry all = new PolicyEntry();
        all.setMaxBrowsePageSize(1_000_000);
        PolicyMap policies = new PolicyMap();
        policies.setDefaultEntry(all);
        broker.setDestinationPolicy(policies);
        broker.setUseJmx(false);
        broker.setSchedulerSupport(false);
        broker.setUseShutdownHook(false);
        SimpleAuthenticationPlugin users = new SimpleAuthenticationPlugin(List.of(new AuthenticationUser("guest", "guest", "all")));
        users.setAnonymousAccessAllowed(true);
        broker.setPlugins(new BrokerPlugin[] {users});
        TransportConnector amqp = broker.addConnector("amqp://127.0.0.1:" + arguments[1] + "?transport.transformer=jms");
        broker.start();
        broker.waitUntilStarted();
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory("guest", "guest", "vm://classic?create=false");
        factory.setTrustAllPackages(true);
        BrokerControl.serve(Integer.parseInt(arguments[2]), factory, new BrokerControl.Broker() {
            @Override
            public void cut() throws Exception {
                for (TransportConnection each : new ArrayList<>(amqp.getConnections())) {
                    each.stop();
                }
            }

            @Override
            public long count(String queue) throws Exception {
                Destination found = broker.getDestination(new ActiveMQQueue(queue));
                return found.getDestinationStatistics().getMessages().getCount();
            }

            @Override
            public List<String> subscriptions() throws Exception {
                List<String> found = new ArrayList<>();
                for (ActiveMQDestination each : broker.getPersistenceAdapter().getDestinations()) {
                    if (each.isTopic()) {
                        for (SubscriptionInfo one : broker.getPersistenceAdapter().createTopicMessageStore((ActiveMQTopic) each).getAllSubscriptions()) {
                            found.add(one.getClientId() + "." + one.getSubscriptionName());
                        }
                    }
                }
                return found;
            }
        });
        Thread.currentThread().join();
    }
}
