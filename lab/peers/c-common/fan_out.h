/*
 * The cells of sp with one sender and several receivers, each on a thread of its own. Part of sp.h.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/prctl.h>

/* Bytes of sender, number, payload and time, which every message has. */
#define DATED_BYTES 24
/* The number of a greeting, which is sent until GO. */
#define GREETING (UINT64_MAX - 1)
/* A time may differ so much from that of its number: programs round differently. */
#define ROUNDING_NS 1000
/* Greetings and marks are sent so often. */
#define EVERY_NS 1000000
/* A sleep between two messages takes this long at least. */
#define NAP_NS 50000
/* A message that is sent later than this is late. */
#define LATE_NS 1000000
/* Bins of a doubling that are told as one. */
#define BINS_AS_ONE (BINS_EACH / 64)

static uint64_t rate, work_us;

/* What one receiver saw. */
struct intake {
    sp_socket socket;
    struct tally tally;
    uint64_t start, corrupt;
    int is_dated;
    uint8_t *numbers; /* a bit for each */
    struct times times;
};

static sem_t greeted;

static void sleep_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static uint64_t offset(uint64_t number)
{
    return (uint64_t)((unsigned __int128)number * 1000000000u / rate);
}

static void send_dated(sp_socket socket, struct stamp stamp, uint64_t due)
{
    sp_message message;
    sp_new(&message, orders.size);
    write_message(sp_bytes(&message), orders.size, stamp);
    memcpy(sp_bytes(&message) + STAMP_BYTES, &due, 8);
    sp_send(socket, &message);
}

static atomic_int has_begun;

/* Waits for GO, then ends the process with its input, whatever the sender waits for. */
static void *follow_the_input(void *unused)
{
    char line[16];
    if (!fgets(line, sizeof line, stdin) || strcmp(line, "GO\n")) {
        fprintf(stderr, "no GO\n");
        exit(1);
    }
    atomic_store(&has_begun, 1);
    return end_with_the_input(unused);
}

_Noreturn static void send_fan_out(void)
{
    pthread_t thread;
    sp_socket socket = sp_open(is_pub() ? SP_PUB : SP_PUSH, orders.size);
    sp_set_queue(socket, (int)number_ordered("QUEUE"));
    int port = sp_listen(socket, orders.address);
    start(&thread, follow_the_input, NULL);
    printf("READY %d\n", port);
    fflush(stdout);
    for (; !atomic_load(&has_begun); sleep_ns(EVERY_NS))
        send_dated(socket, (struct stamp){0, GREETING, 0}, 0);
    prctl(PR_SET_TIMERSLACK, 1);
    uint32_t state = first_state(0);
    uint64_t late = 0, begun = nanoseconds(), now = begun;
    for (uint64_t number = 0; number < orders.messages; number++) {
        uint64_t due = begun + offset(number);
        for (now = nanoseconds(); now < due; now = nanoseconds())
            sleep_ns(due - now > NAP_NS ? due - now : NAP_NS);
        late += now > due + LATE_NS;
        send_dated(socket, (struct stamp){0, number, next_payload(&state)}, due);
    }
    printf("{\"sent\": %llu, \"late\": %llu}\n", (unsigned long long)orders.messages,
           (unsigned long long)late);
    fflush(stdout);
    for (;; sleep_ns(EVERY_NS))
        send_dated(socket, (struct stamp){0, END, 0}, 0);
}

/* Takes a message; 0 when it is the mark. */
static int take_dated(struct intake *intake, uint8_t *message, size_t size)
{
    struct stamp stamp;
    uint64_t due, start, now = nanoseconds();
    size_t words = size / 4;
    if (size != orders.size) {
        intake->corrupt++;
        return 1;
    }
    memcpy(&stamp.number, message + 4, 8);
    memcpy(&stamp.payload, message + 12, 4);
    memcpy(&due, message + STAMP_BYTES, 8);
    if (stamp.number >= GREETING)
        return stamp.number == GREETING;
    start = due - offset(stamp.number);
    if (!intake->is_dated) {
        intake->start = start;
        intake->is_dated = 1;
    }
    if (memcmp(message, "\0\0\0\0", 4) || stamp.number >= orders.messages ||
        start - intake->start + ROUNDING_NS > 2 * ROUNDING_NS ||
        !is_filled(message, 6, stamp.payload) ||
        !is_filled(message, (words + 6) / 2, stamp.payload) ||
        !is_filled(message, words - 1, stamp.payload)) {
        intake->corrupt++;
        return 1;
    }
    intake->tally.count++;
    intake->tally.sum += stamp.payload;
    intake->tally.reordered += stamp.number < intake->tally.next;
    intake->tally.next = stamp.number + 1;
    intake->numbers[stamp.number / 8] |= (uint8_t)(1u << stamp.number % 8);
    add_time(&intake->times, now > due ? now - due : 0);
    return 1;
}

static void *receive_dated(void *argument)
{
    struct intake *intake = argument;
    for (int is_first = 1;; is_first = 0) {
        sp_message message;
        sp_receive(intake->socket, &message);
        int more = take_dated(intake, sp_bytes(&message), sp_size(&message));
        sp_free(&message);
        if (is_first)
            sem_post(&greeted);
        if (!more)
            return NULL;
        if (work_us)
            sleep_ns(work_us * 1000);
    }
}

static void print_numbers(const uint8_t *numbers)
{
    for (uint64_t at = 0; at < (orders.messages + 7) / 8; at++)
        printf("%02x", numbers[at]);
}

/* The upper end of each bin that holds something, in microseconds, and how many lie in it. */
static void print_latency(const struct times *times)
{
    const char *comma = "";
    printf("\"latency_us\": {\"bins\": [");
    for (size_t bin = 0; bin < sizeof times->bins / sizeof *times->bins; bin += BINS_AS_ONE) {
        uint64_t count = 0;
        for (size_t at = bin; at < bin + BINS_AS_ONE; at++)
            count += times->bins[at];
        if (count) {
            printf("%s[%.3f, %llu]", comma, (double)bin_end(bin + BINS_AS_ONE - 1) / 1e3,
                   (unsigned long long)count);
            comma = ", ";
        }
    }
    printf("], \"max\": %.3f}", (double)times->most / 1e3);
}

_Noreturn static void receive_fan_out(void)
{
    uint64_t receivers = number_ordered("RECEIVERS");
    struct intake *intakes = calloc(receivers, sizeof *intakes);
    pthread_t *threads = calloc(receivers + 1, sizeof *threads);
    sem_init(&greeted, 0, 0);
    work_us = number_ordered("WORK_US");
    for (uint64_t at = 0; at < receivers; at++) {
        intakes[at].numbers = calloc((orders.messages + 7) / 8, 1);
        intakes[at].socket = sp_open(is_pub() ? SP_SUB : SP_PULL, orders.size);
        sp_set_queue(intakes[at].socket, (int)number_ordered("QUEUE"));
        if (is_pub())
            sp_subscribe(intakes[at].socket);
        sp_dial(intakes[at].socket, orders.address);
        start(&threads[at], receive_dated, &intakes[at]);
    }
    for (uint64_t at = 0; at < receivers; at++)
        sem_wait(&greeted);
    start(&threads[receivers], end_with_the_input, NULL);
    printf("READY\n");
    fflush(stdout);
    for (uint64_t at = 0; at < receivers; at++) {
        pthread_join(threads[at], NULL);
        corrupt += intakes[at].corrupt;
        for (size_t bin = 0; bin < sizeof times.bins / sizeof *times.bins; bin++)
            times.bins[bin] += intakes[at].times.bins[bin];
        if (intakes[at].times.most > times.most)
            times.most = intakes[at].times.most;
    }
    printf("{\"receivers\": [");
    for (uint64_t at = 0; at < receivers; at++) {
        const struct tally *tally = &intakes[at].tally;
        printf("%s{\"count\": %llu, \"sum\": \"%llu\", \"reordered\": %llu, \"numbers\": \"",
               at ? ", " : "", (unsigned long long)tally->count, (unsigned long long)tally->sum,
               (unsigned long long)tally->reordered);
        print_numbers(intakes[at].numbers);
        printf("\"}");
    }
    printf("], \"corrupt\": %llu, ", (unsigned long long)corrupt);
    print_latency(&times);
    end_line();
    for (;;)
        pause();
}
