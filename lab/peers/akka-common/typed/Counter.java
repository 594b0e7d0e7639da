import lab.Tally;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** A counting actor, in the object-oriented style of the guide. */
final class Counter extends AbstractBehavior<Counter.Command> {
    interface Command {}

    record Count(long amount, int sender, long number, int payload) implements Command {}

    record GetAndReset(ActorRef<Tally> replyTo) implements Command {}

    private final Tally tally = new Tally();

    static Behavior<Command> create() {
        return Behaviors.setup(Counter::new);
    }

    private Counter(ActorContext<Command> context) {
        super(context);
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Count.class, this::onCount)
                .onMessage(GetAndReset.class, this::onGetAndReset)
                .build();
    }

    private Behavior<Command> onCount(Count count) {
        tally.count(count.amount, count.sender, count.number, count.payload);
        return this;
    }

    private Behavior<Command> onGetAndReset(GetAndReset get) {
        get.replyTo.tell(tally.getAndReset());
        return this;
    }
}
