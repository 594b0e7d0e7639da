import io.netty.channel.socket.ServerSocketChannel;
import io.netty.handler.codec.http.HttpMethod;
import lab.Lab;
import lab.Seen;
import org.restexpress.Request;
import org.restexpress.Response;
import org.restexpress.RestExpress;

/** RestExpress with two routes to a controller, and texts as answers. */
public final class Answers {
    private final Seen[] seen = Seen.all();

    public static void main(String[] arguments) throws Exception {
        var server = new RestExpress().noSystemOut().setUseTcpNoDelay(true);
        var answers = new Answers();
        server.uri("/", answers).action("greet", HttpMethod.GET).noSerialization();
        server.uri("/ask/{number}/{payload}", answers).action("ask", HttpMethod.GET).noSerialization();
        server.uri("/account", answers).action("account", HttpMethod.GET).noSerialization();
        var channel = (ServerSocketChannel) server.bind("127.0.0.1", 0);
        // The call returns before the port is bound, and keeps the future to itself.
        while (channel.localAddress() == null) {
            Thread.sleep(1);
        }
        Lab.readyUntilTheInputEnds(channel.localAddress().getPort());
    }

    public String greet(Request request, Response response) {
        return "";
    }

    public synchronized String ask(Request request, Response response) {
        long number = Long.parseLong(request.getHeader("number"));
        long payload = Long.parseLong(request.getHeader("payload"));
        seen[0].take(number, payload);
        return Long.toString(number + payload);
    }

    public synchronized String account(Request request, Response response) {
        Lab.say(Seen.account(seen));
        return "";
    }
}
