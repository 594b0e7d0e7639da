import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import lab.Enquiry;
import lab.Offer;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.serialization.ByteBufferSerializer;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * The fields of each class one after the other, written into the buffer that Artery sends. The
 * manifest is one letter, references are texts.
 */
public final class ByHand extends SerializerWithStringManifest implements ByteBufferSerializer {
    private static final int BYTES_MAX = 1_024;

    private final ActorRefResolver references;

    public ByHand(ExtendedActorSystem system) {
        references = ActorRefResolver.get(Adapter.toTyped(system));
    }

    @Override
    public int identifier() {
        return 2_016;
    }

    @Override
    public String manifest(Object message) {
        if (message instanceof Message.Tell) {
            return "t";
        } else if (message instanceof Message.Ask) {
            return "a";
        } else if (message instanceof Message.Reply) {
            return "r";
        } else if (message instanceof Message.Quote) {
            return "q";
        } else if (message instanceof Offer) {
            return "o";
        } else if (message instanceof Message.Sync) {
            return "s";
        } else if (message instanceof Message.Account) {
            return "c";
        }
        throw new IllegalArgumentException("no manifest for " + message.getClass());
    }

    @Override
    public void toBinary(Object message, ByteBuffer to) {
        to.order(ByteOrder.LITTLE_ENDIAN);
        if (message instanceof Message.Tell tell) {
            to.putLong(tell.number()).putLong(tell.payload());
        } else if (message instanceof Message.Ask ask) {
            write(to.putLong(ask.number()).putLong(ask.payload()), ask.replyTo());
        } else if (message instanceof Message.Reply reply) {
            to.putLong(reply.sum());
        } else if (message instanceof Message.Quote quote) {
            var asked = quote.enquiry();
            to.putInt(asked.sender()).putLong(asked.number()).putLong(asked.payload());
            write(to, quote.replyTo());
        } else if (message instanceof Offer offer) {
            write(to.putLong(offer.sum()).putDouble(offer.weight()), offer.name());
            to.putInt(offer.tags().size());
            offer.tags().forEach(tag -> write(to, tag));
        } else if (message instanceof Message.Sync sync) {
            write(to, sync.replyTo());
        } else if (message instanceof Message.Account account) {
            write(to, account.replyTo());
        } else {
            throw new IllegalArgumentException("no bytes for " + message.getClass());
        }
    }

    @Override
    public Object fromBinary(ByteBuffer from, String manifest) {
        from.order(ByteOrder.LITTLE_ENDIAN);
        return switch (manifest) {
            case "t" -> new Message.Tell(from.getLong(), from.getLong());
            case "a" -> new Message.Ask(from.getLong(), from.getLong(), reference(from));
            case "r" -> new Message.Reply(from.getLong());
            case "q" -> new Message.Quote(
                new Enquiry(from.getInt(), from.getLong(), from.getLong()), reference(from));
            case "o" -> offer(from);
            case "s" -> new Message.Sync(reference(from));
            case "c" -> new Message.Account(reference(from));
            default -> throw new IllegalArgumentException("no class for manifest " + manifest);
        };
    }

    @Override
    public byte[] toBinary(Object message) {
        var buffer = ByteBuffer.allocate(BYTES_MAX);
        toBinary(message, buffer);
        var bytes = new byte[buffer.position()];
        buffer.flip().get(bytes);
        return bytes;
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) {
        return fromBinary(ByteBuffer.wrap(bytes), manifest);
    }

    private static Offer offer(ByteBuffer from) {
        long sum = from.getLong();
        double weight = from.getDouble();
        var name = text(from);
        List<String> tags = new ArrayList<>();
        for (int left = from.getInt(); left > 0; left--) {
            tags.add(text(from));
        }
        return new Offer(sum, name, tags, weight);
    }

    private void write(ByteBuffer to, ActorRef<?> reference) {
        write(to, references.toSerializationFormat(reference));
    }

    private <T> ActorRef<T> reference(ByteBuffer from) {
        return references.resolveActorRef(text(from));
    }

    private static void write(ByteBuffer to, String text) {
        var bytes = text.getBytes(StandardCharsets.UTF_8);
        to.putInt(bytes.length).put(bytes);
    }

    private static String text(ByteBuffer from) {
        var bytes = new byte[from.getInt()];
        from.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
