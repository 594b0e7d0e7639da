import lab.Enquiry;
import org.apache.pekko.actor.typed.ActorRef;

/** What the actor of the server is sent. Answers are classes too: a boxed number has no binding. */
public sealed interface Message {
    record Tell(long number, long payload) implements Message {}

    record Ask(long number, long payload, ActorRef<Reply> replyTo) implements Message {}

    record Quote(Enquiry enquiry, ActorRef<lab.Offer> replyTo) implements Message {}

    /** Is answered behind all messages before it. */
    record Sync(ActorRef<Reply> replyTo) implements Message {}

    /** Has the account printed, and is answered then. */
    record Account(ActorRef<Reply> replyTo) implements Message {}

    record Reply(long sum) {}
}
