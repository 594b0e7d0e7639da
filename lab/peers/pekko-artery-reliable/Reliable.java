import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.LongStream;
import lab.Client;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Payloads;
import lab.Seen;
import lab.Server;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.delivery.ConsumerController;
import org.apache.pekko.actor.typed.delivery.ProducerController;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/**
 * Tells by Reliable Delivery, point to point: the consumer confirms each, the producer sends the
 * next when it is asked to, and what was lost is sent again.
 */
public final class Reliable implements Server {
    private final ActorSystem<Object> producer;

    /** Messages that are sent one after the other, as they are asked for. */
    private record Batch(Iterator<Message> messages, CompletableFuture<Void> sent) {}

    private Reliable(ActorSystem<Object> producer) {
        this.producer = producer;
    }

    public static void main(String[] arguments) throws Exception {
        var config = ConfigFactory.load("by-hand");
        if (arguments[0].equals("server")) {
            var system = ActorSystem.create(consumers(Seen.all()), "lab", config);
            Lab.readyUntilTheInputEnds(system.address().getPort().get());
        }
        var reliable = new Reliable(ActorSystem.create(producers(), "lab", config));
        reliable.request(false).toCompletableFuture().get();
        Client.run(reliable);
    }

    private static Behavior<Void> consumers(Seen[] seen) {
        return Behaviors.setup(context -> {
            ActorRef<Message> desk = context.spawn(Remote.serve(seen), "desk");
            Behavior<ConsumerController.Delivery<Message>> consumer = Behaviors.receiveMessage(delivery -> {
                desk.tell(delivery.message());
                delivery.confirmTo().tell(ConsumerController.confirmed());
                return Behaviors.same();
            });
            context.spawn(ConsumerController.<Message>create(), "deliveries")
                .tell(new ConsumerController.Start<>(context.spawn(consumer, "consumer")));
            return Behaviors.empty();
        });
    }

    private static Behavior<Object> producers() {
        return Behaviors.setup(context -> {
            ActorRef<ConsumerController.Command<Message>> deliveries =
                ActorRefResolver.get(context.getSystem())
                    .resolveActorRef("pekko://lab@127.0.0.1:" + Lab.port() + "/user/deliveries");
            var controller =
                context.spawn(ProducerController.create(Message.class, "lab", Optional.empty()), "producer");
            controller.tell(new ProducerController.Start<>(context.getSelf().narrow()));
            controller.tell(new ProducerController.RegisterConsumer<>(deliveries));
            return produce();
        });
    }

    private static Behavior<Object> produce() {
        Queue<Batch> batches = new ArrayDeque<>();
        // At most one request is open: the controller waits for its message.
        Queue<ActorRef<Message>> requests = new ArrayDeque<>();
        return Behaviors.receive(Object.class)
            .onMessage(ProducerController.<Message>requestNextClass(), request -> {
                requests.add(request.sendNextTo());
                return next(batches, requests);
            })
            .onMessage(Batch.class, batch -> {
                batches.add(batch);
                return next(batches, requests);
            })
            .build();
    }

    private static Behavior<Object> next(Queue<Batch> batches, Queue<ActorRef<Message>> requests) {
        if (!batches.isEmpty() && !requests.isEmpty()) {
            var batch = batches.peek();
            requests.remove().tell(batch.messages.next());
            if (!batch.messages.hasNext()) {
                batches.remove().sent.complete(null);
            }
        }
        return Behaviors.same();
    }

    @Override
    public void tellAll(long messages, Payloads drawn, boolean paced) {
        Iterator<Message> tells = LongStream.range(0, messages)
            .<Message>mapToObj(number -> new Message.Tell(number, drawn.next()))
            .iterator();
        var sent = new CompletableFuture<Void>();
        producer.tell(new Batch(tells, sent));
        sent.join();
    }

    @Override
    public CompletionStage<?> account() {
        return request(true);
    }

    private CompletionStage<Message.Reply> request(boolean account) {
        return AskPattern.ask(producer, (ActorRef<Message.Reply> replyTo) -> {
            Message message = account ? new Message.Account(replyTo) : new Message.Sync(replyTo);
            return new Batch(List.of(message).iterator(), new CompletableFuture<>());
        }, Duration.ofSeconds(60), producer.scheduler());
    }

    @Override
    public void tell(long number, long payload) {
        throw new UnsupportedOperationException("the producer makes all messages");
    }

    @Override
    public CompletionStage<Long> ask(long number, long payload) {
        throw new UnsupportedOperationException("Reliable Delivery has no answers");
    }

    @Override
    public CompletionStage<Offer> quote(Enquiry enquiry) {
        throw new UnsupportedOperationException("Reliable Delivery has no answers");
    }
}
