package clients;

import io.github.rocketconnect.config.v1.ConfigServiceGrpc;
import io.github.rocketconnect.config.v1.CreateConnectorRequest;
import io.github.rocketconnect.config.v1.DeleteConnectorRequest;
import io.github.rocketconnect.config.v1.ListConnectorsRequest;
import io.github.rocketconnect.connector.v1.State;
import io.github.rocketconnect.state.v1.StateServiceGrpc;
import io.github.rocketconnect.state.v1.WatchConnectorStateRequest;
import io.grpc.CallCredentials;
import io.grpc.ChannelCredentials;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Lists connectors, creates one, watches it until it has moved all records, and deletes it.
 *
 * <p>ROCKETCONNECT_ADDRESS=HOST:PORT ROCKETCONNECT_TOKEN=rct_... ROCKETCONNECT_CACERT=ca.pem ./run NAME FILE RECORDS
 */
public final class Client {
  /** Shows the token with each call. */
  private static final class Token extends CallCredentials {
    private static final Metadata.Key<String> NAME = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    private final Metadata shown = new Metadata();

    Token(String token) {
      shown.put(NAME, "Bearer " + token);
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
      applier.apply(shown);
    }
  }

  public static void main(String[] arguments) throws IOException {
    String address = System.getenv("ROCKETCONNECT_ADDRESS");
    String token = System.getenv("ROCKETCONNECT_TOKEN");
    String authority = System.getenv("ROCKETCONNECT_CACERT");
    ChannelCredentials credentials =
        authority == null
            ? InsecureChannelCredentials.create()
            : TlsChannelCredentials.newBuilder().trustManager(new File(authority)).build();
    ManagedChannel channel = Grpc.newChannelBuilder(address, credentials).build();
    try {
      run(channel, token == null ? null : new Token(token), arguments[0], arguments[1], Long.parseLong(arguments[2]));
    } finally {
      channel.shutdownNow();
    }
  }

  private static void run(ManagedChannel channel, CallCredentials token, String name, String file, long records) {
    var configs = ConfigServiceGrpc.newBlockingStub(channel).withCallCredentials(token);
    var states = StateServiceGrpc.newBlockingStub(channel).withCallCredentials(token);

    var list = configs.withDeadlineAfter(60, TimeUnit.SECONDS).listConnectors(ListConnectorsRequest.getDefaultInstance());
    System.out.println("connectors: " + list.getConnectorsCount());

    try {
      configs.withDeadlineAfter(60, TimeUnit.SECONDS)
          .createConnector(CreateConnectorRequest.newBuilder().setName("no such name").build());
    } catch (StatusRuntimeException refused) {
      System.out.println("refused: " + refused.getStatus().getCode());
    }
    var order =
        CreateConnectorRequest.newBuilder()
            .setName(name)
            .putConfig("connector.class", "file_source")
            .putConfig("topic", name)
            .putConfig("filename", file)
            .build();
    var made = configs.withDeadlineAfter(60, TimeUnit.SECONDS).createConnector(order).getConnector();
    System.out.println("created: " + made.getName() + ", revision " + made.getRevision());

    // What is called in a context ends with it: the watch is cancelled at the service, too.
    Context.CancellableContext watching = Context.current().withCancellation();
    watching.run(() -> watch(states, name, records));
    watching.cancel(null);
    System.out.println("moved: " + records);
    configs.withDeadlineAfter(60, TimeUnit.SECONDS)
        .deleteConnector(DeleteConnectorRequest.newBuilder().setName(name).build());
  }

  private static void watch(StateServiceGrpc.StateServiceBlockingStub states, String name, long records) {
    var answers =
        states.withDeadlineAfter(180, TimeUnit.SECONDS)
            .watchConnectorState(WatchConnectorStateRequest.newBuilder().setConnector(name).build());
    State last = null;
    long moved = 0;
    while (moved < records && answers.hasNext()) {
      var state = answers.next().getState();
      if (state.getState() != last) {
        last = state.getState();
        System.out.println("state: " + last);
      }
      moved = state.getTasksList().stream().mapToLong(task -> task.getMetrics().getRecordsOut()).sum();
    }
  }

  private Client() {}
}
