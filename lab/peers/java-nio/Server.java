import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import lab.Lab;

/** A server of pingpong with one selector and one thread, after the documentation of Selector. */
public final class Server {
    private static final int BACKLOG_CONNECTIONS = 1024;

    private final Selector selector = Selector.open();
    private final int expected = Lab.order("CONNECTIONS");
    private int opened, closed;
    private long requests;

    private Server() throws IOException {}

    public static void main(String[] arguments) throws IOException {
        new Server().serve();
    }

    private void serve() throws IOException {
        var listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), Lab.order("PORT")),
                BACKLOG_CONNECTIONS);
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
        Lab.readyUntilInputEnds(((InetSocketAddress) listener.getLocalAddress()).getPort());
        while (true) {
            selector.select(key -> {
                try {
                    if (key.isAcceptable()) accept(listener);
                    else answer(key);
                } catch (IOException broken) {
                    // A client that resets its connection has closed it.
                    close(key);
                }
            });
        }
    }

    private void accept(ServerSocketChannel listener) throws IOException {
        var channel = listener.accept();
        if (channel == null) return;
        channel.configureBlocking(false);
        channel.register(selector, SelectionKey.OP_READ,
                ByteBuffer.allocateDirect(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN));
        opened++;
    }

    /** The buffer holds the part of a request that has come, or of a reply that has not gone. */
    private void answer(SelectionKey key) throws IOException {
        var channel = (SocketChannel) key.channel();
        var buffer = (ByteBuffer) key.attachment();
        if (key.isReadable()) {
            if (channel.read(buffer) < 0) {
                close(key);
                return;
            }
            if (buffer.hasRemaining()) return;
            requests++;
            buffer.putInt(0, Tokens.reply(buffer.getInt(0)));
            buffer.flip();
        }
        channel.write(buffer);
        if (buffer.hasRemaining()) {
            key.interestOps(SelectionKey.OP_WRITE);
            return;
        }
        buffer.clear();
        if (key.isWritable()) key.interestOps(SelectionKey.OP_READ);
    }

    private void close(SelectionKey key) {
        try {
            key.channel().close();
        } catch (IOException broken) {
            // It is gone all the same.
        }
        closed++;
        if (closed >= expected && closed == opened) Lab.say("{\"requests\": " + requests + "}");
    }
}
