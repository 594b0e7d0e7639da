import io.vertx.core.Context;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetSocket;
import io.vertx.core.parsetools.RecordParser;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import lab.Client;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Payloads;
import lab.Seen;
import lab.Server;

/**
 * Frames over a socket of Vert.x, read by its RecordParser: four bytes of length, a byte that says
 * what follows, and that. Answers come in the order of their questions, without that byte.
 */
public final class Remote implements Server {
    private static final byte TELL = 't';
    private static final byte ASK = 'a';
    private static final byte QUOTE = 'q';
    private static final byte ACCOUNT = 'c';
    /** A longer frame than ours is a fault. */
    private static final int FRAME_BYTES_MAX = 1_024;
    /** Messages of a turn of the event loop, which should take no longer than a few milliseconds. */
    private static final int TURN = 1_024;

    private final Context context;
    private final NetSocket socket;
    /** Touched in the context alone. */
    private final Queue<Promise<Buffer>> open = new ArrayDeque<>();

    private Remote(Context context, NetSocket socket) {
        this.context = context;
        this.socket = socket;
        socket.handler(frames(answer -> open.remove().complete(answer)));
        socket.exceptionHandler(Lab::fail);
        socket.closeHandler(closed -> Lab.fail(new IllegalStateException("the server has closed")));
    }

    public static void main(String[] arguments) throws Exception {
        var vertx = Vertx.vertx();
        if (arguments[0].equals("server")) {
            var seen = Seen.all();
            var server = vertx.createNetServer()
                .connectHandler(socket -> socket
                    .exceptionHandler(Throwable::printStackTrace)
                    .handler(frames(frame -> serve(socket, seen, frame))))
                .listen(0, "127.0.0.1")
                .await();
            Lab.readyUntilTheInputEnds(server.actualPort());
        }
        var context = vertx.getOrCreateContext();
        Promise<Remote> connected = Promise.promise();
        context.runOnContext(run -> vertx.createNetClient()
            .connect(Lab.port(), "127.0.0.1")
            .map(socket -> new Remote(context, socket))
            .onComplete(connected));
        Client.run(connected.future().await());
    }

    /** Calls `take` with each frame, without its length. */
    private static RecordParser frames(Handler<Buffer> take) {
        var parser = RecordParser.newFixed(4);
        parser.maxRecordSize(FRAME_BYTES_MAX);
        var isLength = new boolean[] {true};
        parser.handler(record -> {
            parser.fixedSizeMode(isLength[0] ? record.getInt(0) : 4);
            if (!isLength[0]) {
                take.handle(record);
            }
            isLength[0] = !isLength[0];
        });
        return parser;
    }

    private static void serve(NetSocket socket, Seen[] seen, Buffer frame) {
        switch (frame.getByte(0)) {
            case TELL -> seen[0].take(frame.getLong(1), frame.getUnsignedInt(9));
            case ASK -> {
                long number = frame.getLong(1);
                long payload = frame.getUnsignedInt(9);
                seen[0].take(number, payload);
                socket.write(Buffer.buffer(12).appendInt(8).appendLong(number + payload));
            }
            case QUOTE -> {
                var enquiry = new JsonObject(frame.getBuffer(1, frame.length())).mapTo(Enquiry.class);
                seen[enquiry.sender()].take(enquiry.number(), enquiry.payload());
                var offer = JsonObject.mapFrom(enquiry.offer()).toBuffer();
                socket.write(Buffer.buffer().appendInt(offer.length()).appendBuffer(offer));
            }
            case ACCOUNT -> {
                Lab.say(Seen.account(seen));
                socket.write(Buffer.buffer(12).appendInt(8).appendLong(0));
            }
            default -> socket.close();
        }
    }

    @Override
    public void tell(long number, long payload) {
        socket.write(message(TELL, number, payload));
    }

    /** Sends while the socket's queue has room, but lets others use the context now and then. */
    @Override
    public void tellAll(long messages, Payloads drawn, boolean paced) {
        if (!paced) {
            Server.super.tellAll(messages, drawn, false);
            return;
        }
        var done = new CountDownLatch(1);
        context.runOnContext(new Handler<>() {
            private long next;

            @Override
            public void handle(Void run) {
                long end = Math.min(messages, next + TURN);
                while (next < end && !socket.writeQueueFull()) {
                    tell(next++, drawn.next());
                }
                if (next == messages) {
                    done.countDown();
                } else if (next == end) {
                    context.runOnContext(this);
                } else {
                    socket.drainHandler(this);
                }
            }
        });
        try {
            done.await();
        } catch (InterruptedException interrupted) {
            Lab.fail(interrupted);
        }
    }

    @Override
    public CompletionStage<Long> ask(long number, long payload) {
        return request(message(ASK, number, payload)).thenApply(answer -> answer.getLong(0));
    }

    @Override
    public CompletionStage<Offer> quote(Enquiry enquiry) {
        var body = JsonObject.mapFrom(enquiry).toBuffer();
        var frame = Buffer.buffer().appendInt(1 + body.length()).appendByte(QUOTE).appendBuffer(body);
        return request(frame).thenApply(answer -> new JsonObject(answer).mapTo(Offer.class));
    }

    @Override
    public CompletionStage<?> account() {
        return request(Buffer.buffer(5).appendInt(1).appendByte(ACCOUNT));
    }

    private static Buffer message(byte kind, long number, long payload) {
        return Buffer.buffer(17).appendInt(13).appendByte(kind).appendLong(number)
            .appendUnsignedInt(payload);
    }

    private CompletionStage<Buffer> request(Buffer frame) {
        Promise<Buffer> answer = Promise.promise();
        context.runOnContext(run -> {
            open.add(answer);
            socket.write(frame);
        });
        return answer.future().toCompletionStage();
    }
}
