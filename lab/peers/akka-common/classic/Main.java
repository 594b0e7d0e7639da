import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import lab.Asker;
import lab.Lab;
import lab.Place;
import lab.Seen;
import lab.Senders;
import lab.Tally;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.pattern.Patterns;

/** Counter with the classic interface: actors on the default dispatcher, threads that tell them. */
public final class Main {
    private static final Duration ANSWER_MAX = Duration.ofSeconds(30);
    private static final ActorSystem SYSTEM = ActorSystem.create("lab");

    public static void main(String[] arguments) throws Exception {
        switch (Lab.cell()) {
            case "ask" -> ask();
            case "bounce", "ring" -> ring();
            case "spawn" -> spawn();
            default -> count();
        }
    }

    private static <A> A ask(Class<A> type, ActorRef actor, Object message) {
        return type.cast(Patterns.ask(actor, message, ANSWER_MAX).toCompletableFuture().join());
    }

    private static void count() throws Exception {
        long amount = Lab.order("AMOUNT");
        List<ActorRef> counters = new ArrayList<>();
        for (int at = 0; at < Lab.actors(); at++) {
            var props = Props.create(Counter.class, Counter::new).withMailbox("bounded-mailbox");
            counters.add(SYSTEM.actorOf(props, "counter-" + at));
        }
        Lab.readyAndGo();
        Senders.run((actor, sender, number, payload) -> counters.get(actor)
                .tell(new Counter.Count(amount, sender, number, payload), ActorRef.noSender()));
        List<Tally> tallies = new ArrayList<>();
        for (var counter : counters) {
            tallies.add(ask(Tally.class, counter, new Counter.GetAndReset()));
        }
        Lab.finish(Tally.account(tallies));
    }

    private static void ask() throws Exception {
        var answerer = SYSTEM.actorOf(Props.create(Answerer.class, Answerer::new), "answerer");
        var asker = new Asker();
        Lab.readyAndGo();
        while (asker.hasNext()) {
            var question = new Answerer.Ask(asker.number(), asker.payload());
            asker.hold(ask(Long.class, answerer, question));
        }
        Lab.finish(asker.account(ask(Seen.class, answerer, new Answerer.Get())));
    }

    private static void ring() throws Exception {
        var ended = new CompletableFuture<Integer>();
        List<ActorRef> nodes = new ArrayList<>();
        for (Place place : Place.all()) {
            nodes.add(SYSTEM.actorOf(Props.create(Node.class, () -> new Node(place, ended))));
        }
        for (int at = 0; at < nodes.size(); at++) {
            var next = nodes.get((at + 1) % nodes.size());
            nodes.get(at).tell(new Node.Next(next), ActorRef.noSender());
        }
        Lab.readyAndGo();
        nodes.get(0).tell(new Node.Token(0, Lab.order("SEED")), ActorRef.noSender());
        int value = ended.get();
        List<Place> places = new ArrayList<>();
        for (var node : nodes) places.add(ask(Place.class, node, new Node.Get()));
        Lab.finish(Place.account(value, places));
    }

    private static void spawn() throws Exception {
        var ended = new CompletableFuture<String>();
        var parent = SYSTEM.actorOf(
                Props.create(Idler.Parent.class, () -> new Idler.Parent(ended)), "parent");
        Lab.readyAndGo();
        parent.tell(new Idler.Spawn(Lab.order("MESSAGES")), ActorRef.noSender());
        Lab.finish(ended.get());
    }
}
