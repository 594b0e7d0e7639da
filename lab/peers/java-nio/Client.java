import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import lab.Lab;
import lab.Payloads;

/** A client of pingpong: all connections on one selector and one thread. */
public final class Client {
    private static final int MESSAGES = Lab.order("MESSAGES");
    private static int wrong;
    private static long replies;

    /** One connection with its request in flight. */
    private static final class Connection {
        final SocketChannel channel;
        final Tokens tokens;
        final ByteBuffer buffer =
                ByteBuffer.allocateDirect(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        int request;
        int sent;

        Connection(int sender) throws IOException {
            tokens = new Tokens(new Payloads(Lab.order("SEED"), sender));
            channel = SocketChannel.open(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), Lab.order("PORT")));
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.configureBlocking(false);
        }

        void ask() throws IOException {
            request = tokens.next();
            sent++;
            buffer.clear().putInt(request).flip();
            // Nothing is in flight, so the socket has room for four bytes.
            while (buffer.hasRemaining()) channel.write(buffer);
            buffer.clear();
        }

        /** Takes what has come; false when all is done and the connection closed. */
        boolean listen() throws IOException {
            if (channel.read(buffer) < 0) throw new EOFException("the server has closed");
            if (buffer.hasRemaining()) return true;
            replies++;
            if (buffer.getInt(0) != Tokens.reply(request)) wrong++;
            if (sent < MESSAGES) {
                ask();
                return true;
            }
            channel.close();
            return false;
        }
    }

    public static void main(String[] arguments) throws IOException {
        var selector = Selector.open();
        int working = Lab.order("CONNECTIONS");
        for (int sender = 0; sender < working; sender++) {
            var connection = new Connection(sender);
            connection.channel.register(selector, SelectionKey.OP_READ, connection);
        }
        Lab.readyAndGo();
        for (var key : selector.keys()) ((Connection) key.attachment()).ask();
        while (working > 0) {
            selector.select();
            for (var key : selector.selectedKeys()) {
                if (!((Connection) key.attachment()).listen()) working--;
            }
            selector.selectedKeys().clear();
        }
        Lab.say("{\"replies\": " + replies + ", \"wrong\": " + wrong + "}");
    }
}
