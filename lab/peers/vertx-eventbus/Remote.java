import com.hazelcast.config.Config;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import io.vertx.spi.cluster.hazelcast.ConfigUtil;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;
import java.util.concurrent.CompletionStage;
import lab.Client;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Seen;
import lab.Server;

/**
 * A cluster of two, over Hazelcast, and the event bus between them: point-to-point messages to an
 * address, with a reply where one is wanted. Numbers travel as a buffer, callers' structs as JSON.
 */
public final class Remote implements Server {
    private static final String WORK = "work";
    private static final String QUOTES = "quotes";
    private static final String ACCOUNT = "account";
    private static final DeliveryOptions PATIENT = new DeliveryOptions().setSendTimeout(20_000);

    private final EventBus bus;

    private Remote(Vertx vertx) {
        bus = vertx.eventBus();
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("server")) {
            int port = Lab.freePort();
            var bus = clustered(port).eventBus();
            serve(bus, Seen.all()).await();
            Lab.readyUntilTheInputEnds(port);
        }
        var remote = new Remote(clustered(Lab.port()));
        remote.sync().toCompletableFuture().get();
        Client.run(remote);
    }

    /** A member of the cluster that has one at `port` of this machine; it takes the next if it can. */
    private static Vertx clustered(int port) throws Exception {
        Config config = ConfigUtil.loadConfig();
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        var network = config.getNetworkConfig().setPort(port);
        network.getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        network.getJoin().getMulticastConfig().setEnabled(false);
        network.getJoin().getTcpIpConfig().setEnabled(true).addMember("127.0.0.1:" + port);
        var options = new VertxOptions();
        options.getEventBusOptions().setHost("127.0.0.1");
        return Vertx.builder()
            .with(options)
            .withClusterManager(new HazelcastClusterManager(config))
            .buildClustered()
            .toCompletionStage().toCompletableFuture().get();
    }

    private static Future<?> serve(EventBus bus, Seen[] seen) {
        var work = bus.<Buffer>consumer(WORK, message -> {
            if (message.body().length() == 0) {
                message.reply(0L);
                return;
            }
            long number = message.body().getLong(0);
            long payload = message.body().getUnsignedInt(8);
            seen[0].take(number, payload);
            if (message.replyAddress() != null) {
                message.reply(number + payload);
            }
        });
        var quotes = bus.<JsonObject>consumer(QUOTES, message -> {
            var enquiry = message.body().mapTo(Enquiry.class);
            seen[enquiry.sender()].take(enquiry.number(), enquiry.payload());
            message.reply(JsonObject.mapFrom(enquiry.offer()));
        });
        var account = bus.consumer(ACCOUNT, message -> {
            Lab.say(Seen.account(seen));
            message.reply(0L);
        });
        return Future.all(work.completion(), quotes.completion(), account.completion());
    }

    @Override
    public void tell(long number, long payload) {
        bus.send(WORK, message(number, payload));
    }

    /** The bus has no bound for what it has not sent yet. */
    @Override
    public CompletionStage<?> sync() {
        return request(WORK, Buffer.buffer());
    }

    @Override
    public CompletionStage<Long> ask(long number, long payload) {
        return request(WORK, message(number, payload));
    }

    @Override
    public CompletionStage<Offer> quote(Enquiry enquiry) {
        return this.<JsonObject>request(QUOTES, JsonObject.mapFrom(enquiry))
            .thenApply(answer -> answer.mapTo(Offer.class));
    }

    @Override
    public CompletionStage<?> account() {
        return sync().thenCompose(behindAll -> request(ACCOUNT, Buffer.buffer()));
    }

    private static Buffer message(long number, long payload) {
        return Buffer.buffer(12).appendLong(number).appendUnsignedInt(payload);
    }

    private <T> CompletionStage<T> request(String address, Object body) {
        return bus.<T>request(address, body, PATIENT).map(Message::body).toCompletionStage();
    }
}
