/*
 * The messages of sp of the lab's contract, what was seen of them, and the accounts. Part of sp.h.
 */
#include <time.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "messages are little-endian"
#endif

#define STAMP_BYTES 16
/* The number of the mark behind a sender's last message. */
#define END UINT64_MAX

/* Sender, number and payload of a message. */
struct stamp {
    uint32_t sender;
    uint64_t number;
    uint32_t payload;
};

/* What a receiver saw of a sender. */
struct tally {
    uint64_t count, sum, reordered, next;
};

/* Times of round trips in bins of 1/256 of a doubling. */
#define BINS_EACH 256
struct times {
    uint64_t bins[64 * BINS_EACH], count, most;
};

static struct {
    const char *cell;
    size_t size;
    uint32_t senders, seed;
    uint64_t messages;
    char address[256];
} orders;

static struct tally *tallies;
static uint64_t corrupt;
static struct times times;
static uint64_t replies, wrong, sum;

static const char *order(const char *name)
{
    const char *text = getenv(name);
    if (!text) {
        fprintf(stderr, "no order %s\n", name);
        exit(1);
    }
    return text;
}

static uint64_t number_ordered(const char *name)
{
    char *end;
    const char *text = order(name);
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end) {
        fprintf(stderr, "%s is '%s', not a number\n", name, text);
        exit(1);
    }
    return value;
}

static int is_cell(const char *name)
{
    return !strcmp(orders.cell, name);
}

/* Whether one PUB sends to several SUB. */
static int is_pub(void)
{
    return !strncmp(orders.cell, "pub", 3);
}

static uint32_t first_state(uint32_t sender)
{
    uint32_t x = orders.seed ^ ((sender + 1) * 2654435761u);
    return x ? x : 1;
}

static uint32_t next_payload(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void write_message(uint8_t *message, size_t size, struct stamp stamp)
{
    uint64_t words = (uint64_t)stamp.payload << 32 | stamp.payload;
    size_t at = STAMP_BYTES;
    memcpy(message, &stamp.sender, 4);
    memcpy(message + 4, &stamp.number, 8);
    memcpy(message + 12, &stamp.payload, 4);
    for (; at + 8 <= size; at += 8)
        memcpy(message + at, &words, 8);
    memcpy(message + at, &words, size - at);
}

/* Whether the word at `at` is the payload. */
static int is_filled(const uint8_t *message, size_t at, uint32_t payload)
{
    return !memcmp(message + at * 4, &payload, 4);
}

/* Reads a message; 0 when it has another length or is not filled as it should be. */
static int read_message(const uint8_t *message, size_t size, struct stamp *stamp)
{
    size_t words = size / 4;
    if (size != orders.size)
        return 0;
    memcpy(&stamp->sender, message, 4);
    memcpy(&stamp->number, message + 4, 8);
    memcpy(&stamp->payload, message + 12, 4);
    return words == 4 || (is_filled(message, 4, stamp->payload) &&
                          is_filled(message, (words + 4) / 2, stamp->payload) &&
                          is_filled(message, words - 1, stamp->payload));
}

/* Takes a message; 0 when it is corrupt. */
static int take(const uint8_t *message, size_t size, struct stamp *stamp)
{
    if (!read_message(message, size, stamp) || stamp->sender >= orders.senders) {
        corrupt++;
        return 0;
    }
    if (stamp->number != END) {
        struct tally *tally = &tallies[stamp->sender];
        tally->count++;
        tally->sum += stamp->payload;
        tally->reordered += stamp->number != tally->next;
        tally->next = stamp->number + 1;
    }
    return 1;
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add_time(struct times *times, uint64_t spent)
{
    int shift = spent < BINS_EACH ? 0 : 55 - __builtin_clzll(spent);
    times->bins[(size_t)shift * BINS_EACH + (spent >> shift)]++;
    times->count++;
    if (spent > times->most)
        times->most = spent;
}

static void take_time(uint64_t spent)
{
    add_time(&times, spent);
}

/* The first time that is too long for a bin. */
static uint64_t bin_end(size_t bin)
{
    size_t shift = bin < 2 * BINS_EACH ? 0 : bin / BINS_EACH - 1;
    return (uint64_t)(bin - shift * BINS_EACH + 1) << shift;
}

/* The time in microseconds that a share of the round trips did not exceed. */
static double percentile(double share)
{
    uint64_t wanted = (uint64_t)(share * (double)times.count), seen = 0;
    for (size_t bin = 0; bin < sizeof times.bins / sizeof *times.bins; bin++) {
        seen += times.bins[bin];
        if (seen > wanted) {
            uint64_t end = bin_end(bin) - 1;
            return (double)(end < times.most ? end : times.most) / 1e3;
        }
    }
    return (double)times.most / 1e3;
}

static void print_receiver(void)
{
    printf("\"senders\": [");
    for (uint32_t at = 0; at < orders.senders; at++)
        printf("%s{\"count\": %llu, \"sum\": \"%llu\", \"reordered\": %llu}", at ? ", " : "",
               (unsigned long long)tallies[at].count, (unsigned long long)tallies[at].sum,
               (unsigned long long)tallies[at].reordered);
    printf("], \"corrupt\": %llu", (unsigned long long)corrupt);
}

static void print_sender(void)
{
    if (!is_cell("req")) {
        printf("\"sent\": %llu", (unsigned long long)orders.messages);
        return;
    }
    printf("\"replies\": %llu, \"wrong\": %llu, \"sum\": \"%llu\", \"rtt_us\": {\"p50\": %.3f, "
           "\"p90\": %.3f, \"p99\": %.3f, \"max\": %.3f}",
           (unsigned long long)replies, (unsigned long long)wrong, (unsigned long long)sum,
           percentile(0.5), percentile(0.9), percentile(0.99), (double)times.most / 1e3);
}

static void end_line(void)
{
    printf("}\n");
    fflush(stdout);
}
