import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** Consumes a topic in the order of its queues, prints each message, and goes on until it is ended: PushReader NAME_SERVER GROUP TOPIC. */
public class PushReader {
    public static void main(String[] words) throws Exception {
        try {
            read(words);
        } catch (Exception error) {
            // Threads of the client would go on.
            error.printStackTrace();
            System.exit(1);
        }
    }

    private static void read(String[] words) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(words[1]);
        consumer.setNamesrvAddr(words[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // The topic may be made later.
        consumer.setPollNameServerInterval(1000);
        // Of a machine that is busy: what is asked in vain at the start ends it.
        consumer.setMqClientApiTimeout(60_000);
        consumer.subscribe(words[2], "*");
        consumer.registerMessageListener((MessageListenerOrderly) PushReader::consume);
        consumer.start();
        Thread.currentThread().join();
    }

    private static ConsumeOrderlyStatus consume(List<MessageExt> messages, ConsumeOrderlyContext context) {
        StringBuilder lines = new StringBuilder();
        for (MessageExt message : messages) {
            byte[] key = String.valueOf(message.getKeys()).getBytes(StandardCharsets.UTF_8);
            lines.append(message.getQueueId()).append(' ').append(message.getQueueOffset());
            lines.append(' ').append(encoded(key)).append(' ').append(encoded(message.getBody())).append('\n');
        }
        // Whole lines: several queues are read side by side.
        synchronized (System.out) {
            System.out.print(lines);
            System.out.flush();
        }
        return ConsumeOrderlyStatus.SUCCESS;
    }

    private static String encoded(byte[] bytes) {
        return "<" + Base64.getEncoder().encodeToString(bytes) + ">";
    }
}
