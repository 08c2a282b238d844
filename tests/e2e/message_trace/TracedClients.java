import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/** A producer and a consumer with the message trace switched on; the consumer sends the message back once before it takes it. */
public final class TracedClients {
    public static void main(String[] args) throws Exception {
        // Threads of a client that is not shut down would keep the process alive.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        String nameServer = args[0];
        String topic = args[1];
        String key = args[2];
        DefaultMQProducer producer = new DefaultMQProducer("traced_producer");
        producer.setEnableTrace(true);
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(60_000);
        producer.start();
        byte[] body = "traced".getBytes(StandardCharsets.UTF_8);
        String id = producer.send(new Message(topic, "tag", key + " other", body)).getMsgId();
        producer.shutdown();

        CountDownLatch taken = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("traced_consumer");
        consumer.setEnableTrace(true);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPollNameServerInterval(1000);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (messages.get(0).getReconsumeTimes() == 0) {
                context.setDelayLevelWhenNextConsume(1);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            taken.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        boolean done = taken.await(100, TimeUnit.SECONDS);
        // The end of a consumption is told behind the listener.
        Thread.sleep(500);
        consumer.shutdown();
        System.out.println((done ? "TAKEN " : "NOT TAKEN ") + id);
        System.exit(0);
    }
}
