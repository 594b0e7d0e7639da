import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/** Embedded Jetty as its guide begins: a server, a connector, and one handler that never blocks. */
public final class Documents extends Handler.Abstract.NonBlocking {
    private static final byte[] DOCUMENT = "{\"id\": 1}".getBytes(StandardCharsets.US_ASCII);

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        if (!Request.getPathInContext(request).equals("/")) {
            // The server answers with its own page that there is no such path.
            return false;
        }
        var headers = response.getHeaders();
        headers.put(HttpHeader.CONTENT_TYPE, "application/json");
        headers.put("Token", request.getHeaders().get("Token"));
        response.write(true, ByteBuffer.wrap(DOCUMENT), callback);
        return true;
    }

    public static void main(String[] arguments) throws Exception {
        var server = new Server();
        var connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(0);
        server.addConnector(connector);
        server.setHandler(new Documents());
        server.start();
        System.out.println("READY " + connector.getLocalPort());
        // The lab ends with this input.
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        Runtime.getRuntime().halt(0);
    }
}
