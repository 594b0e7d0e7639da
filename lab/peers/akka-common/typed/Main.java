import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import lab.Asker;
import lab.Lab;
import lab.Place;
import lab.Senders;
import lab.Tally;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.MailboxSelector;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** Counter with the typed interface: actors on the default dispatcher, threads that tell them. */
public final class Main {
    private static final Duration ANSWER_MAX = Duration.ofSeconds(30);

    public static void main(String[] arguments) throws Exception {
        switch (Lab.cell()) {
            case "ask" -> ask();
            case "bounce", "ring" -> ring();
            case "spawn" -> spawn();
            default -> count();
        }
    }

    /** A system whose guardian starts other actors, and what it has started. */
    private static final class Started<T> {
        final ActorSystem<Void> system;
        final T actors;

        Started(Function<ActorContext<Void>, T> start) {
            var started = new CompletableFuture<T>();
            system = ActorSystem.create(Behaviors.setup(context -> {
                started.complete(start.apply(context));
                return Behaviors.empty();
            }), "lab");
            actors = started.join();
        }

        <M, A> A ask(ActorRef<M> actor, Function<ActorRef<A>, M> message) {
            var answer = AskPattern.<M, A>ask(actor, message::apply, ANSWER_MAX, system.scheduler());
            return answer.toCompletableFuture().join();
        }
    }

    private static void count() throws Exception {
        long amount = Lab.order("AMOUNT");
        var bounded = MailboxSelector.fromConfig("bounded-mailbox");
        var started = new Started<List<ActorRef<Counter.Command>>>(context -> {
            List<ActorRef<Counter.Command>> counters = new ArrayList<>();
            for (int at = 0; at < Lab.actors(); at++) {
                counters.add(context.spawn(Counter.create(), "counter-" + at, bounded));
            }
            return counters;
        });
        var counters = started.actors;
        Lab.readyAndGo();
        Senders.run((actor, sender, number, payload) ->
                counters.get(actor).tell(new Counter.Count(amount, sender, number, payload)));
        List<Tally> tallies = new ArrayList<>();
        for (var counter : counters) {
            tallies.add(started.<Counter.Command, Tally>ask(counter, Counter.GetAndReset::new));
        }
        Lab.finish(Tally.account(tallies));
    }

    private static void ask() throws Exception {
        var started = new Started<>(context -> context.spawn(Answerer.create(), "answerer"));
        var asker = new Asker();
        Lab.readyAndGo();
        while (asker.hasNext()) {
            asker.hold(started.<Answerer.Command, Long>ask(started.actors,
                    replyTo -> new Answerer.Ask(asker.number(), asker.payload(), replyTo)));
        }
        Lab.finish(asker.account(started.ask(started.actors, Answerer.Get::new)));
    }

    private static void ring() throws Exception {
        var ended = new CompletableFuture<Integer>();
        var started = new Started<List<ActorRef<Node.Command>>>(context -> {
            List<ActorRef<Node.Command>> nodes = new ArrayList<>();
            for (Place place : Place.all()) {
                nodes.add(context.spawn(Node.create(place, ended), "node-" + nodes.size()));
            }
            return nodes;
        });
        var nodes = started.actors;
        for (int at = 0; at < nodes.size(); at++) {
            nodes.get(at).tell(new Node.Next(nodes.get((at + 1) % nodes.size())));
        }
        Lab.readyAndGo();
        nodes.get(0).tell(new Node.Token(0, Lab.order("SEED")));
        int value = ended.get();
        List<Place> places = new ArrayList<>();
        for (var node : nodes) places.add(started.<Node.Command, Place>ask(node, Node.Get::new));
        Lab.finish(Place.account(value, places));
    }

    private static void spawn() throws Exception {
        var ended = new CompletableFuture<String>();
        var parent = ActorSystem.create(Idler.parent(ended), "lab");
        Lab.readyAndGo();
        parent.tell(new Idler.Spawn(Lab.order("MESSAGES")));
        Lab.finish(ended.get());
    }
}
