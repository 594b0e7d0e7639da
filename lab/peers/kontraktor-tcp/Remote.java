import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import lab.Client;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Server;
import org.nustaq.kontraktor.Actors;
import org.nustaq.kontraktor.IPromise;
import org.nustaq.kontraktor.remoting.base.ActorPublisher;
import org.nustaq.kontraktor.remoting.base.ConnectableActor;
import org.nustaq.kontraktor.remoting.encoding.Coding;
import org.nustaq.kontraktor.remoting.encoding.SerializerType;
import org.nustaq.kontraktor.remoting.http.HttpConnectable;
import org.nustaq.kontraktor.remoting.http.undertow.HttpPublisher;
import org.nustaq.kontraktor.remoting.http.undertow.WebSocketPublisher;
import org.nustaq.kontraktor.remoting.tcp.TCPConnectable;
import org.nustaq.kontraktor.remoting.tcp.TCPNIOPublisher;
import org.nustaq.kontraktor.remoting.websockets.WebSocketConnectable;

/**
 * A published actor and a reference to it in another process, by the binary serializer. What lies
 * between them, and whether a message has two arguments or one, is said by the command line.
 */
public final class Remote implements Server {
    private static final String HOST = "127.0.0.1";
    private static final String PATH = "/lab";
    private static final Coding CODING =
        new Coding(SerializerType.FSTSer, Desk.Sum.class, Desk.Quote.class);

    private final Desk desk;
    private final boolean oneObject;

    private Remote(Desk desk, boolean oneObject) {
        this.desk = desk;
        this.oneObject = oneObject;
    }

    public static void main(String[] arguments) throws Exception {
        var transport = arguments[1];
        if (arguments[0].equals("server")) {
            var desk = Actors.AsActor(Desk.class);
            desk.begin();
            int port = Lab.freePort();
            publisher(transport, desk, port).publish().await();
            Lab.readyUntilTheInputEnds(port);
        }
        Desk desk = connectable(transport, Lab.port()).<Desk>connect().await();
        var remote = new Remote(desk, arguments[2].equals("sum"));
        stage(desk.sync()).toCompletableFuture().get();
        Client.run(remote);
    }

    private static ActorPublisher publisher(String transport, Desk desk, int port) {
        return switch (transport) {
            case "tcp" -> new TCPNIOPublisher(desk, port).coding(CODING);
            case "ws" -> new WebSocketPublisher(desk, HOST, PATH, port).coding(CODING);
            case "http" -> new HttpPublisher(desk, HOST, PATH, port).coding(CODING);
            default -> throw new IllegalArgumentException("no transport " + transport);
        };
    }

    private static ConnectableActor connectable(String transport, int port) {
        var address = "://" + HOST + ":" + port + PATH;
        return switch (transport) {
            case "tcp" -> new TCPConnectable(Desk.class, HOST, port).coding(CODING);
            case "ws" -> new WebSocketConnectable(Desk.class, "ws" + address).coding(CODING);
            case "http" -> new HttpConnectable(Desk.class, "http" + address).coding(CODING);
            default -> throw new IllegalArgumentException("no transport " + transport);
        };
    }

    @Override
    public void tell(long number, long payload) {
        if (oneObject) {
            desk.noteSum(new Desk.Sum(number, payload));
        } else {
            desk.note(number, payload);
        }
    }

    @Override
    public CompletionStage<Long> ask(long number, long payload) {
        return stage(oneObject ? desk.addSum(new Desk.Sum(number, payload)) : desk.add(number, payload));
    }

    @Override
    public CompletionStage<Offer> quote(Enquiry enquiry) {
        return stage(desk.quote(enquiry.sender(), enquiry.number(), enquiry.payload()))
            .thenApply(Desk.Quote::offer);
    }

    @Override
    public CompletionStage<?> account() {
        return stage(desk.account());
    }

    private static <T> CompletionStage<T> stage(IPromise<T> promise) {
        var stage = new CompletableFuture<T>();
        promise.then((answer, error) -> {
            if (error == null) {
                stage.complete(answer);
            } else {
                stage.completeExceptionally(new IllegalStateException(error.toString()));
            }
        });
        return stage;
    }
}
