import lab.Asker;
import lab.Seen;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** An actor that answers each ask. */
final class Answerer extends AbstractBehavior<Answerer.Command> {
    interface Command {}

    record Ask(long number, int payload, ActorRef<Long> replyTo) implements Command {}

    record Get(ActorRef<Seen> replyTo) implements Command {}

    private final Seen seen = new Seen(1);

    static Behavior<Command> create() {
        return Behaviors.setup(Answerer::new);
    }

    private Answerer(ActorContext<Command> context) {
        super(context);
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Ask.class, this::onAsk)
                .onMessage(Get.class, this::onGet)
                .build();
    }

    private Behavior<Command> onAsk(Ask ask) {
        seen.accept(0, ask.number, ask.payload);
        ask.replyTo.tell(Asker.answer(ask.number, ask.payload));
        return this;
    }

    private Behavior<Command> onGet(Get get) {
        get.replyTo.tell(seen);
        return this;
    }
}
