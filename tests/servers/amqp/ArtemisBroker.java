import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.config.impl.SecurityConfiguration;
import org.apache.activemq.artemis.core.security.Role;
import org.apache.activemq.artemis.core.server.ActiveMQServer;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.activemq.artemis.spi.core.security.ActiveMQJAASSecurityManager;
import org.apache.activemq.artemis.spi.core.security.jaas.InVMLoginModule;

/** Artemis with AMQP, and AMQP over TLS. */
public final class ArtemisBroker {
    private ArtemisBroker() {}

    /**
     * Runs until it is killed.
     *
     * @param arguments its folder, the ports of AMQP, AMQP over TLS and of its control, and what follows the port of TLS
     */
    public static void main(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        Configuration settings = new ConfigurationImpl();
        settings.setPersistenceEnabled(true).setJournalType(JournalType.NIO).setSecurityEnabled(true).setMaxDiskUsage(99)
            .setJournalDirectory(folder + "/journal").setBindingsDirectory(folder + "/bindings")
            .setLargeMessagesDirectory(folder + "/large").setPagingDirectory(folder + "/paging").setJournalSyncNonTransactional(false);
        settings.addAcceptorConfiguration("amqp", "tcp://127.0.0.1:" + arguments[1] + "?protocols=AMQP&amqpIdleTimeout=20000");
        settings.addAcceptorConfiguration("tls", "tcp://127.0.0.1:" + arguments[2] + "?protocols=AMQP&" + arguments[4]);
        settings.addAcceptorConfiguration("vm", "vm://0");
        settings.addAddressSetting("#", new AddressSettings().setMaxDeliveryAttempts(-1).setIDCacheSize(1000));
        settings.addAddressSetting("fixed.#", new AddressSettings().setAutoCreateAddresses(false).setAutoCreateQueues(false));
        settings.putSecurityRoles("#", roles("all"));
        SecurityConfiguration users = new SecurityConfiguration();
        users.addUser("guest", "guest");
        users.addRole("guest", "all");
        users.addUser("reader", "right");
        users.addRole("reader", "some");
        users.setDefaultUser("guest");
        settings.putSecurityRoles("fixed.#", roles("all"));
        EmbeddedActiveMQ broker = new EmbeddedActiveMQ();
        broker.setConfiguration(settings);
        broker.setSecurityManager(new ActiveMQJAASSecurityManager(InVMLoginModule.class.getName(), users));
        broker.start();
        ActiveMQServer server = broker.getActiveMQServer();
        BrokerControl.serve(Integer.parseInt(arguments[3]), new ActiveMQConnectionFactory("vm://0"), new BrokerControl.Broker() {
            @Override
            public void cut() throws Exception {
                server.getActiveMQServerControl().closeConnectionsForAddress("127.0.0.1");
            }

            @Override
            public long count(String queue) {
                return server.locateQueue(queue) == null ? 0 : server.locateQueue(queue).getMessageCount();
            }

            @Override
            public List<String> subscriptions() {
                return Stream.of(server.getActiveMQServerControl().getQueueNames("MULTICAST")).collect(Collectors.toList());
            }
        });
        Thread.currentThread().join();
    }

    private static Set<Role> roles(String name) {
        return Set.of(new Role(name, true, true, true, true, true, true, true, true, true, true, true, true));
    }
}
