import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import lab.Client;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Seen;
import lab.Server;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.japi.function.Function;

/**
 * Two actor systems and Artery over TCP. The actor of the server is addressed by its path, and asked
 * by the ask pattern. The serializer of messages and answers is that of the configuration file.
 */
public final class Remote implements Server {
    private static final Duration REPLY_MAX = Duration.ofSeconds(20);

    private final ActorSystem<Void> system;
    private final ActorRef<Message> server;

    private Remote(ActorSystem<Void> system) {
        this.system = system;
        server = ActorRefResolver.get(system)
            .resolveActorRef("pekko://lab@127.0.0.1:" + Lab.port() + "/user");
    }

    public static void main(String[] arguments) throws Exception {
        Config config = ConfigFactory.load(arguments[1]);
        if (arguments[0].equals("server")) {
            var system = ActorSystem.create(serve(Seen.all()), "lab", config);
            Lab.readyUntilTheInputEnds(system.address().getPort().get());
        }
        var remote = new Remote(ActorSystem.create(Behaviors.empty(), "lab", config));
        remote.sync().toCompletableFuture().get();
        Client.run(remote);
    }

    static Behavior<Message> serve(Seen[] seen) {
        return Behaviors.receive(Message.class)
            .onMessage(Message.Tell.class, tell -> {
                seen[0].take(tell.number(), tell.payload());
                return Behaviors.same();
            })
            .onMessage(Message.Ask.class, ask -> {
                seen[0].take(ask.number(), ask.payload());
                ask.replyTo().tell(new Message.Reply(ask.number() + ask.payload()));
                return Behaviors.same();
            })
            .onMessage(Message.Quote.class, quote -> {
                var enquiry = quote.enquiry();
                seen[enquiry.sender()].take(enquiry.number(), enquiry.payload());
                quote.replyTo().tell(enquiry.offer());
                return Behaviors.same();
            })
            .onMessage(Message.Sync.class, sync -> {
                sync.replyTo().tell(new Message.Reply(0));
                return Behaviors.same();
            })
            .onMessage(Message.Account.class, account -> {
                Lab.say(Seen.account(seen));
                account.replyTo().tell(new Message.Reply(0));
                return Behaviors.same();
            })
            .build();
    }

    /** Artery drops what its queue has no room for. */
    @Override
    public CompletionStage<?> sync() {
        return request(Message.Sync::new);
    }

    @Override
    public void tell(long number, long payload) {
        server.tell(new Message.Tell(number, payload));
    }

    @Override
    public CompletionStage<Long> ask(long number, long payload) {
        return this.<Message.Reply>request(to -> new Message.Ask(number, payload, to))
            .thenApply(Message.Reply::sum);
    }

    @Override
    public CompletionStage<Offer> quote(Enquiry enquiry) {
        return request(to -> new Message.Quote(enquiry, to));
    }

    @Override
    public CompletionStage<?> account() {
        return request(Message.Account::new);
    }

    /**
     * Without an executor of its own, a stage that follows one of Scala's futures runs in the common
     * pool, which on two processors is a new thread for each.
     */
    private <T> CompletionStage<T> request(Function<ActorRef<T>, Message> message) {
        return AskPattern.<Message, T>ask(server, message, REPLY_MAX, system.scheduler())
            .thenApplyAsync(answer -> answer, Runnable::run);
    }
}
