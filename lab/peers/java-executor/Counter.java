import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import lab.Asker;
import lab.Lab;
import lab.Place;
import lab.Seen;
import lab.Senders;
import lab.Tally;

/**
 * Actors as plain Java has them: a state, and an executor with one thread and a bounded queue that
 * alone touches it. A task that finds no room waits, by the handler of rejected tasks.
 */
public final class Counter {
    private static final int QUEUE_TASKS_MAX = 1024;

    public static void main(String[] arguments) throws Exception {
        switch (Lab.cell()) {
            case "ask" -> ask();
            case "bounce", "ring" -> ring();
            default -> count();
        }
    }

    private static ExecutorService singleThread() {
        return new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(QUEUE_TASKS_MAX), (task, executor) -> {
                    try {
                        executor.getQueue().put(task);
                    } catch (InterruptedException interrupted) {
                        throw new RejectedExecutionException(interrupted);
                    }
                });
    }

    private static void count() throws Exception {
        long amount = Lab.order("AMOUNT");
        int actors = Lab.actors();
        var executors = new ExecutorService[actors];
        var tallies = new Tally[actors];
        for (int at = 0; at < actors; at++) {
            executors[at] = singleThread();
            tallies[at] = new Tally();
        }
        Lab.readyAndGo();
        Senders.run((actor, sender, number, payload) -> {
            var tally = tallies[actor];
            executors[actor].execute(() -> tally.count(amount, sender, number, payload));
        });
        List<Tally> answers = new ArrayList<>();
        for (int at = 0; at < actors; at++) {
            answers.add(executors[at].submit(tallies[at]::getAndReset).get());
        }
        Lab.finish(Tally.account(answers));
    }

    private static void ask() throws Exception {
        var executor = singleThread();
        var seen = new Seen(1);
        var asker = new Asker();
        Lab.readyAndGo();
        while (asker.hasNext()) {
            long number = asker.number();
            int payload = asker.payload();
            asker.hold(executor.submit(() -> {
                seen.accept(0, number, payload);
                return Asker.answer(number, payload);
            }).get());
        }
        Lab.finish(executor.submit(() -> asker.account(seen)).get());
    }

    /** A place with its executor and its neighbour. */
    private static final class Node {
        final ExecutorService executor = singleThread();
        final Place place;
        final CompletableFuture<Integer> ended;
        Node next;

        Node(Place place, CompletableFuture<Integer> ended) {
            this.place = place;
            this.ended = ended;
        }

        void tell(long hop, int value) {
            executor.execute(() -> {
                int changed = place.pass(hop, value);
                if (place.isLast(hop + 1)) ended.complete(changed);
                else next.tell(hop + 1, changed);
            });
        }
    }

    private static void ring() throws Exception {
        var ended = new CompletableFuture<Integer>();
        var nodes = Place.all().stream().map(place -> new Node(place, ended)).toList();
        for (int at = 0; at < nodes.size(); at++) {
            nodes.get(at).next = nodes.get((at + 1) % nodes.size());
        }
        Lab.readyAndGo();
        nodes.get(0).tell(0, Lab.order("SEED"));
        int value = ended.get();
        List<Place> places = new ArrayList<>();
        for (Node node : nodes) places.add(node.executor.submit(() -> node.place).get());
        Lab.finish(Place.account(value, places));
    }
}
