import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import lab.Lab;
import lab.Seen;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/** Jetty, embedded, with a handler that never blocks but for the lock of what it has seen. */
public final class Answers extends Handler.Abstract.NonBlocking {
    private final Seen[] seen = Seen.all();

    public static void main(String[] arguments) throws Exception {
        var server = new Server();
        var connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        server.setHandler(new Answers());
        server.start();
        Lab.readyUntilTheInputEnds(connector.getLocalPort());
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        var parts = Request.getPathInContext(request).split("/");
        var body = "";
        if (parts.length == 4 && parts[1].equals("ask")) {
            body = ask(Long.parseLong(parts[2]), Long.parseLong(parts[3]));
        } else if (parts.length == 2 && parts[1].equals("account")) {
            account();
        }
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain");
        response.write(true, ByteBuffer.wrap(body.getBytes(StandardCharsets.US_ASCII)), callback);
        return true;
    }

    private synchronized String ask(long number, long payload) {
        seen[0].take(number, payload);
        return Long.toString(number + payload);
    }

    private synchronized void account() {
        Lab.say(Seen.account(seen));
    }
}
