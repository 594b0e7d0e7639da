import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import lab.Asker;
import lab.Lab;
import lab.Place;
import lab.Senders;
import lab.Tally;
import org.nustaq.kontraktor.Actor;
import org.nustaq.kontraktor.Actors;
import org.nustaq.kontraktor.Scheduler;
import org.nustaq.kontraktor.impl.SimpleScheduler;

/**
 * Counter with Kontraktor, all within the process: as many schedulers as there are processors, each
 * a thread that polls the queues of its actors, and threads that tell them. A sender that finds no
 * room waits.
 */
public final class Main {
    private static final int QUEUE_CALLS_MAX = 1024;
    private static final List<Scheduler> SCHEDULERS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        for (int at = 0; at < Runtime.getRuntime().availableProcessors(); at++) {
            SCHEDULERS.add(new SimpleScheduler(QUEUE_CALLS_MAX));
        }
        switch (Lab.cell()) {
            case "ask" -> ask();
            case "bounce", "ring" -> ring();
            default -> count();
        }
    }

    /** Actor {@code number} of {@code all}: neighbours share a thread, as far as that goes. */
    private static <T extends Actor<T>> T actor(Class<T> type, int number, int all) {
        var scheduler = SCHEDULERS.get((int) ((long) number * SCHEDULERS.size() / all));
        return Actors.AsActor(type, scheduler, QUEUE_CALLS_MAX);
    }

    private static void count() throws Exception {
        long amount = Lab.order("AMOUNT");
        List<Counter> counters = new ArrayList<>();
        for (int at = 0; at < Lab.actors(); at++) {
            counters.add(actor(Counter.class, at, Lab.actors()));
        }
        Lab.readyAndGo();
        Senders.run((actor, sender, number, payload) ->
                counters.get(actor).count(amount, sender, number, payload));
        List<Tally> tallies = new ArrayList<>();
        for (var counter : counters) tallies.add(counter.getAndReset().await());
        Lab.finish(Tally.account(tallies));
    }

    private static void ask() throws Exception {
        var answerer = actor(Answerer.class, 0, 1);
        var asker = new Asker();
        Lab.readyAndGo();
        while (asker.hasNext()) {
            asker.hold(answerer.answer(asker.number(), asker.payload()).await());
        }
        Lab.finish(asker.account(answerer.seen().await()));
    }

    private static void ring() throws Exception {
        var ended = new CompletableFuture<Integer>();
        var places = Place.all();
        List<Node> nodes = new ArrayList<>();
        for (var place : places) nodes.add(actor(Node.class, nodes.size(), places.size()));
        for (int at = 0; at < places.size(); at++) {
            nodes.get(at).begin(places.get(at), nodes.get((at + 1) % places.size()), ended);
        }
        Lab.readyAndGo();
        nodes.get(0).token(0, Lab.order("SEED"));
        int value = ended.get();
        List<Place> passed = new ArrayList<>();
        for (var node : nodes) passed.add(node.place().await());
        Lab.finish(Place.account(value, passed));
    }
}
