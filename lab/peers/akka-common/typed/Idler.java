import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import lab.Lab;
import lab.Payloads;
import lab.Roll;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** One of very many actors, and the actor that spawns them and hears of each. */
final class Idler extends AbstractBehavior<Idler.Hello> {
    record Hello(int payload) {}

    interface Command {}

    record Spawn(int actors) implements Command {}

    record Here(long number, long told, int payload) implements Command {}

    private final long number;
    private final ActorRef<Command> roll;
    private long told;

    private Idler(ActorContext<Hello> context, long number, ActorRef<Command> roll) {
        super(context);
        this.number = number;
        this.roll = roll;
    }

    @Override
    public Receive<Hello> createReceive() {
        return newReceiveBuilder().onMessage(Hello.class, this::onHello).build();
    }

    private Behavior<Hello> onHello(Hello hello) {
        told++;
        roll.tell(new Here(number, told, hello.payload));
        return this;
    }

    /** Spawns as many as it is told to, then tells each; completes {@code ended} with the account. */
    static Behavior<Command> parent(CompletableFuture<String> ended) {
        return Behaviors.setup(context -> {
            var roll = new Roll();
            return Behaviors.receive(Command.class)
                    .onMessage(Spawn.class, spawn -> {
                        spawn(context, spawn.actors);
                        return Behaviors.same();
                    })
                    .onMessage(Here.class, here -> {
                        if (roll.enter(here.number, here.told, here.payload)) {
                            ended.complete(roll.account());
                        }
                        return Behaviors.same();
                    })
                    .build();
        });
    }

    private static void spawn(ActorContext<Command> context, int actors) {
        List<ActorRef<Hello>> all = new ArrayList<>(actors);
        for (int at = 0; at < actors; at++) {
            long number = at;
            all.add(context.spawnAnonymous(
                    Behaviors.setup(own -> new Idler(own, number, context.getSelf()))));
        }
        var payloads = new Payloads(Lab.order("SEED"), 0);
        for (ActorRef<Hello> one : all) one.tell(new Hello(payloads.next()));
    }
}
