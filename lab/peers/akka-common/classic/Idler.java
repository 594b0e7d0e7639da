import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import lab.Lab;
import lab.Payloads;
import lab.Roll;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.Props;

/** One of very many actors. */
final class Idler extends AbstractActor {
    record Hello(int payload) {}

    record Spawn(int actors) {}

    record Here(long number, long told, int payload) {}

    private final long number;
    private final ActorRef roll;
    private long told;

    Idler(long number, ActorRef roll) {
        this.number = number;
        this.roll = roll;
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder().match(Hello.class, this::onHello).build();
    }

    private void onHello(Hello hello) {
        told++;
        roll.tell(new Here(number, told, hello.payload), getSelf());
    }

    /** Spawns as many as it is told to, then tells each; completes {@code ended} with the account. */
    static final class Parent extends AbstractActor {
        private final Roll roll = new Roll();
        private final CompletableFuture<String> ended;

        Parent(CompletableFuture<String> ended) {
            this.ended = ended;
        }

        @Override
        public Receive createReceive() {
            return receiveBuilder()
                    .match(Here.class, this::onHere)
                    .match(Spawn.class, this::onSpawn)
                    .build();
        }

        private void onHere(Here here) {
            if (roll.enter(here.number, here.told, here.payload)) ended.complete(roll.account());
        }

        private void onSpawn(Spawn spawn) {
            List<ActorRef> all = new ArrayList<>(spawn.actors);
            for (int at = 0; at < spawn.actors; at++) {
                long number = at;
                all.add(getContext().actorOf(
                        Props.create(Idler.class, () -> new Idler(number, getSelf()))));
            }
            var payloads = new Payloads(Lab.order("SEED"), 0);
            for (ActorRef one : all) one.tell(new Hello(payloads.next()), getSelf());
        }
    }
}
