package lab;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/** Does what was ordered, over any server. */
public final class Client {
    private final Server server;
    private final long messages = Lab.order("MESSAGES");
    private final Replies replies = new Replies();
    private long asked;

    private Client(Server server) {
        this.server = server;
    }

    /** READY, GO, the work, the accounts of both, and the end of the program. */
    public static void run(Server server) throws Exception {
        var client = new Client(server);
        Lab.readyAndWaitForGo();
        var account = client.work();
        server.account().toCompletableFuture().get();
        Lab.say(account);
        Runtime.getRuntime().halt(0);
    }

    private String work() throws InterruptedException {
        return switch (Lab.cell()) {
            case "ask" -> ask(Math.min((int) Lab.order("WINDOW"), server.windowMax()));
            case "rtt" -> askInTurn();
            case "callers" -> call((int) Lab.order("SENDERS"));
            default -> tell(Lab.cell().equals("tell"));
        };
    }

    private String tell(boolean paced) {
        server.tellAll(messages, new Payloads(Lab.order("SEED"), 0), paced);
        return "{\"sent\": %d}".formatted(messages);
    }

    private String ask(int window) throws InterruptedException {
        var drawn = new Payloads(Lab.order("SEED"), 0);
        var open = new CountDownLatch((int) messages);
        for (long number = Math.min(window, messages); number > 0; number--) {
            askNext(drawn, open);
        }
        open.await();
        return replies.account();
    }

    /** Each answer sends the next ask, on its own thread. */
    private synchronized void askNext(Payloads drawn, CountDownLatch open) {
        if (asked == messages) {
            return;
        }
        long number = asked++;
        long payload = drawn.next();
        server.ask(number, payload).whenComplete((answer, error) -> {
            if (error != null) {
                Lab.fail(error);
            }
            replies.hold(answer, number + payload);
            open.countDown();
            askNext(drawn, open);
        });
    }

    private String askInTurn() throws InterruptedException {
        var drawn = new Payloads(Lab.order("SEED"), 0);
        var times = new long[(int) messages];
        var done = new CountDownLatch(1);
        var trip = new Object() {
            int number;
            long payload;
            long begun;
        };
        new Chain<Long>(() -> {
            if (trip.number == messages) {
                done.countDown();
                return null;
            }
            trip.payload = drawn.next();
            trip.begun = System.nanoTime();
            return server.ask(trip.number, trip.payload);
        }, answer -> {
            times[trip.number] = System.nanoTime() - trip.begun;
            replies.hold(answer, trip.number + trip.payload);
            trip.number++;
        }).run();
        done.await();
        return replies.account(times);
    }

    private String call(int callers) throws InterruptedException {
        var done = new CountDownLatch(callers);
        long each = messages / callers;
        for (int caller = 0; caller < callers; caller++) {
            int sender = caller;
            var drawn = new Payloads(Lab.order("SEED"), sender);
            var trip = new Object() {
                long number;
                Offer due;
            };
            new Chain<Offer>(() -> {
                if (trip.number == each) {
                    done.countDown();
                    return null;
                }
                var enquiry = new Enquiry(sender, trip.number++, drawn.next());
                trip.due = enquiry.offer();
                return server.quote(enquiry);
            }, answer -> replies.hold(answer.sum(), answer.equals(trip.due))).run();
        }
        done.await();
        return replies.account();
    }

    /** One ask after the other, each by the thread that brought the answer before. */
    private record Chain<T>(Asks<T> next, Consumer<T> take) {
        void run() {
            for (var asked = next.ask(); asked != null; asked = next.ask()) {
                var future = asked.toCompletableFuture();
                if (!future.isDone()) {
                    future.whenComplete((answer, error) -> {
                        if (error != null) {
                            Lab.fail(error);
                        }
                        take.accept(answer);
                        run();
                    });
                    return;
                }
                take.accept(future.join());
            }
        }
    }

    private interface Asks<T> {
        CompletionStage<T> ask();
    }
}
