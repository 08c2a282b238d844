import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** RocketMQ's own client as the other side: sends what the tests expect, or prints what it receives. */
public final class JavaPeer {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("send")) {
            send(args[1], args[2]);
        } else {
            receive(args[1], args[2], Integer.parseInt(args[3]));
        }
        System.exit(0);
    }

    private static Message message(String topic, String body, int number) {
        Message message = new Message(topic, "tag" + number, "key" + number + " other", body.getBytes(StandardCharsets.UTF_8));
        message.putUserProperty("own", "wert ß " + number);
        return message;
    }

    private static void send(String nameServer, String topic) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("java_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setCompressMsgBodyOverHowmuch(1000);
        producer.start();
        MessageQueue queue = producer.fetchPublishMessageQueues(topic).get(0);
        check(producer.send(message(topic, "größe", 0), queue).getSendStatus());
        int number = 1;
        for (CompressionType type : CompressionType.values()) {
            producer.setCompressType(type);
            check(producer.send(message(topic, ("long ä" + number).repeat(1000), number), queue).getSendStatus());
            number++;
        }
        List<Message> batch = new ArrayList<>();
        for (; number < 100; number++) {
            batch.add(message(topic, "batched " + number, number));
        }
        check(producer.send(batch, queue).getSendStatus());
        producer.shutdown();
    }

    private static void check(SendStatus status) {
        if (status != SendStatus.SEND_OK) {
            throw new IllegalStateException(status.name());
        }
    }

    private static void receive(String nameServer, String topic, int count) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("java_consumer");
        consumer.setNamesrvAddr(nameServer);
        consumer.setAutoCommit(false);
        consumer.start();
        Collection<MessageQueue> queues = consumer.fetchMessageQueues(topic);
        consumer.assign(queues);
        for (MessageQueue queue : queues) {
            consumer.seekToBegin(queue);
        }
        long deadline = System.currentTimeMillis() + 30_000;
        while (count > 0 && System.currentTimeMillis() < deadline) {
            for (MessageExt message : consumer.poll(500)) {
                print(message);
                count--;
            }
        }
        consumer.shutdown();
    }

    private static void print(MessageExt message) {
        StringBuilder own = new StringBuilder();
        for (Map.Entry<String, String> property : new TreeMap<>(message.getProperties()).entrySet()) {
            if (property.getKey().startsWith("own")) {
                own.append(property.getKey()).append('=').append(property.getValue()).append('\n');
            }
        }
        System.out.println("MESSAGE " + message.getQueueOffset() + " " + encode(message.getBody()) + " "
            + encode(text(message.getTags())) + " " + encode(text(message.getKeys())) + " " + encode(text(own.toString())));
    }

    private static byte[] text(String value) {
        return (value == null ? "" : value).getBytes(StandardCharsets.UTF_8);
    }

    private static String encode(byte[] bytes) {
        return "<" + Base64.getEncoder().encodeToString(bytes) + ">";
    }
}
