import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import lab.Client;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Server;
import org.eclipse.jetty.client.CompletableResponseListener;
import org.eclipse.jetty.client.HttpClient;

/** Asks a server by GET, over so many connections that are kept alive, one ask on each at a time. */
public final class Asks implements Server {
    private final HttpClient client = new HttpClient();
    private final String address = "http://127.0.0.1:" + Lab.port();
    private final int connections;

    private Asks(int connections) {
        this.connections = connections;
    }

    public static void main(String[] arguments) throws Exception {
        var asks = new Asks(Integer.parseInt(arguments[0]));
        asks.client.setMaxConnectionsPerDestination(asks.connections);
        asks.client.start();
        asks.get("/").toCompletableFuture().get();
        Client.run(asks);
    }

    @Override
    public int windowMax() {
        return connections;
    }

    @Override
    public void tell(long number, long payload) {
        throw new UnsupportedOperationException("HTTP has no message without an answer");
    }

    @Override
    public CompletionStage<Long> ask(long number, long payload) {
        return get("/ask/" + number + "/" + payload).thenApply(Long::parseLong);
    }

    @Override
    public CompletionStage<Offer> quote(Enquiry enquiry) {
        throw new UnsupportedOperationException("callers are not written for HTTP");
    }

    @Override
    public CompletionStage<?> account() {
        return get("/account");
    }

    private CompletionStage<String> get(String path) {
        var request = client.newRequest(address + path).timeout(20, TimeUnit.SECONDS);
        return new CompletableResponseListener(request).send().thenApply(response -> {
            if (response.getStatus() != 200) {
                throw new IllegalStateException(path + " has status " + response.getStatus());
            }
            return response.getContentAsString();
        });
    }
}
