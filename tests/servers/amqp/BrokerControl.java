import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.Destination;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.StreamMessage;
import jakarta.jms.TextMessage;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What tests ask of a broker, by HTTP, and what a client of JMS of its own makes there. */
public final class BrokerControl {
    private BrokerControl() {}

    /** A broker. */
    public interface Broker {
        /** Ends all connections of AMQP. */
        void cut() throws Exception;

        /** How many messages a queue has, those that are given and not settled, too. */
        long count(String queue) throws Exception;

        /** The names of the durable subscriptions. */
        List<String> subscriptions() throws Exception;
    }

    /**
     * Answers until the process ends.
     *
     * @param port where
     * @param factory of the broker's own client of JMS
     * @param broker of which it is asked
     */
    public static void serve(int port, ConnectionFactory factory, Broker broker) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port), 0);
        server.createContext("/", exchange -> {
            String answer;
            int code = 200;
            try {
                answer = answer(exchange, factory, broker);
            } catch (Exception error) {
                answer = error.toString();
                code = 500;
            }
            byte[] body = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(code, body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    private static String answer(HttpExchange exchange, ConnectionFactory factory, Broker broker) throws Exception {
        Map<String, String> asked = new TreeMap<>();
        String query = exchange.getRequestURI().getRawQuery();
        for (String pair : query == null ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            asked.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
        switch (exchange.getRequestURI().getPath()) {
            case "/cut":
                broker.cut();
                return "";
            case "/count":
                return Long.toString(broker.count(asked.get("queue")));
            case "/subscriptions":
                return String.join("\n", broker.subscriptions());
            case "/send":
                return send(factory, asked.get("name"), asked.get("type"));
            case "/browse":
                return browse(factory, asked.get("name"));
            case "/read":
                return read(factory, asked.get("name"), Integer.parseInt(asked.get("count")));
            default:
                return "ready";
        }
    }

    private static String send(ConnectionFactory factory, String name, String type) throws Exception {
        try (Connection connection = factory.createConnection()) {
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            Destination to = type.equals("topic") ? session.createTopic(name) : session.createQueue(name);
            MessageProducer producer = session.createProducer(to);
            producer.setPriority(7);
            producer.setTimeToLive(600_000);
            MapMessage map = session.createMapMessage();
            map.setString("name", "ü");
            map.setLong("count", 5);
            map.setBoolean("good", true);
            BytesMessage bytes = session.createBytesMessage();
            bytes.writeBytes("bytes ü".getBytes(StandardCharsets.UTF_8));
            StreamMessage stream = session.createStreamMessage();
            stream.writeInt(1);
            stream.writeString("two");
            StringBuilder ids = new StringBuilder();
            for (Message each : List.of(session.createTextMessage("text ü"), bytes, map, stream, session.createObjectMessage("object"))) {
                each.setJMSCorrelationID("correlation");
                each.setJMSType("type");
                each.setJMSReplyTo(session.createQueue("answers"));
                each.setStringProperty("region", "eu");
                each.setIntProperty("number", 3);
                producer.send(each);
                ids.append(each.getJMSMessageID()).append('\n');
            }
            return ids.toString();
        }
    }

    private static String read(ConnectionFactory factory, String name, int count) throws Exception {
        try (Connection connection = factory.createConnection()) {
            connection.start();
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            MessageConsumer consumer = session.createConsumer(session.createQueue(name));
            List<String> found = new ArrayList<>();
            while (found.size() < count) {
                Message each = consumer.receive(30_000);
                if (each == null) {
                    return "too few: " + found;
                }
                Map<String, String> properties = new TreeMap<>();
                for (Object property : Collections.list(each.getPropertyNames())) {
                    properties.put(property.toString(), String.valueOf(each.getObjectProperty(property.toString())));
                }
                found.add(String.join("\t", body(each), String.valueOf(each.getJMSType()), String.valueOf(each.getJMSCorrelationID()),
                    Integer.toString(each.getJMSPriority()), Integer.toString(each.getJMSDeliveryMode()), String.valueOf(properties)));
            }
            return String.join("\n", found);
        }
    }

    private static String browse(ConnectionFactory factory, String name) throws Exception {
        try (Connection connection = factory.createConnection()) {
            connection.start();
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            List<String> found = new ArrayList<>();
            for (Object each : Collections.list(session.createBrowser(session.createQueue(name)).getEnumeration())) {
                found.add(body((Message) each));
            }
            return String.join("\n", found);
        }
    }

    private static String body(Message message) throws Exception {
        if (message instanceof TextMessage) {
            return "text " + ((TextMessage) message).getText();
        }
        if (message instanceof BytesMessage) {
            byte[] data = new byte[(int) ((BytesMessage) message).getBodyLength()];
            ((BytesMessage) message).readBytes(data);
            return "bytes " + new String(data, StandardCharsets.UTF_8);
        }
        if (message instanceof MapMessage) {
            Map<String, Object> fields = new TreeMap<>();
            for (Object name : Collections.list(((MapMessage) message).getMapNames())) {
                fields.put(name.toString(), ((MapMessage) message).getObject(name.toString()));
            }
            return "map " + fields;
        }
        if (message instanceof StreamMessage) {
            return "stream " + ((StreamMessage) message).readObject() + " " + ((StreamMessage) message).readObject();
        }
        return "other";
    }
}
