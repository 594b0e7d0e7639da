/*
 * The cells of sp of the lab's contract for a library in C.
 *
 * A peer's program defines what its sockets do and includes this file at its end:
 *
 *     typedef ... sp_socket;
 *     typedef ... sp_message;
 *     static sp_socket sp_open(enum sp_kind kind, size_t size);
 *     static int sp_listen(sp_socket socket, const char *address);  // the port, if it has one
 *     static void sp_dial(sp_socket socket, const char *address);
 *     static void sp_new(sp_message *message, size_t size);
 *     static uint8_t *sp_bytes(sp_message *message);
 *     static size_t sp_size(sp_message *message);
 *     static void sp_send(sp_socket socket, sp_message *message);   // takes it over
 *     static void sp_receive(sp_socket socket, sp_message *message);
 *     static void sp_free(sp_message *message);
 *     static void sp_set_queue(sp_socket socket, int messages);     // that may wait for a peer
 *     static void sp_subscribe(sp_socket socket);                   // a SUB, to everything
 *     #define SP_THREADS_SHARE_A_SOCKET 0 or 1
 */
#include <pthread.h>
#include <unistd.h>

#include "messages.h"

#define INPROC "inproc://lab"

static void wait_for_end_of_input(void)
{
    char rest[64];
    while (read(STDIN_FILENO, rest, sizeof rest) > 0)
        ;
}

static void *end_with_the_input(void *unused)
{
    wait_for_end_of_input();
    _exit(0);
    return unused;
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (pthread_create(thread, NULL, run, argument)) {
        fprintf(stderr, "no thread\n");
        exit(1);
    }
}

static void ready_and_go(void)
{
    char line[16];
    printf("READY\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin) || strcmp(line, "GO\n")) {
        fprintf(stderr, "no GO\n");
        exit(1);
    }
}

static void send_stamp(sp_socket socket, struct stamp stamp)
{
    sp_message message;
    sp_new(&message, orders.size);
    write_message(sp_bytes(&message), orders.size, stamp);
    sp_send(socket, &message);
}

/* Receives until the mark of every sender has come. */
static void receive_all(sp_socket socket)
{
    for (uint32_t open = orders.senders; open;) {
        struct stamp stamp;
        sp_message message;
        sp_receive(socket, &message);
        if (take(sp_bytes(&message), sp_size(&message), &stamp) && stamp.number == END)
            open--;
        sp_free(&message);
    }
}

/* Answers requests until the mark. The reply is the request, with other words in it. */
static void answer_all(sp_socket socket, int prints)
{
    for (;;) {
        struct stamp stamp;
        sp_message message;
        sp_receive(socket, &message);
        if (!take(sp_bytes(&message), sp_size(&message), &stamp)) {
            fprintf(stderr, "a request that nobody sent\n");
            exit(1);
        }
        if (stamp.number == END && prints) {
            printf("{");
            print_receiver();
            end_line();
        }
        uint64_t number = stamp.number;
        stamp.payload = ~stamp.payload;
        write_message(sp_bytes(&message), orders.size, stamp);
        sp_send(socket, &message);
        if (number == END)
            return;
    }
}

static void ask_all(sp_socket socket)
{
    uint32_t state = first_state(0);
    for (uint64_t number = 0; number <= orders.messages; number++) {
        struct stamp stamp = {0, number, 0}, reply;
        if (number == orders.messages)
            stamp.number = END;
        else
            stamp.payload = next_payload(&state);
        uint64_t begun = nanoseconds();
        send_stamp(socket, stamp);
        sp_message message;
        sp_receive(socket, &message);
        if (stamp.number != END) {
            take_time(nanoseconds() - begun);
            int right = read_message(sp_bytes(&message), sp_size(&message), &reply);
            wrong += !right || reply.sender || reply.number != number ||
                     reply.payload != ~stamp.payload;
            sum += reply.payload;
            replies++;
        }
        sp_free(&message);
    }
}

/* A sender's own socket or the common one, and its number. */
struct sender {
    sp_socket socket;
    uint32_t number;
};

static void *send_all(void *argument)
{
    struct sender *sender = argument;
    uint32_t state = first_state(sender->number);
    uint64_t each = orders.messages / orders.senders;
    for (uint64_t number = 0; number < each; number++)
        send_stamp(sender->socket,
                   (struct stamp){sender->number, number, next_payload(&state)});
    send_stamp(sender->socket, (struct stamp){sender->number, END, 0});
    return NULL;
}

static void send_from_threads(struct sender *senders)
{
    pthread_t *threads = calloc(orders.senders, sizeof *threads);
    for (uint32_t at = 0; at < orders.senders; at++)
        start(&threads[at], send_all, &senders[at]);
    for (uint32_t at = 0; at < orders.senders; at++)
        pthread_join(threads[at], NULL);
}

/* On all sockets in turn. */
static void send_in_turn(struct sender *senders)
{
    uint32_t *states = calloc(orders.senders, sizeof *states);
    uint64_t each = orders.messages / orders.senders;
    for (uint32_t at = 0; at < orders.senders; at++)
        states[at] = first_state(at);
    for (uint64_t number = 0; number < each; number++)
        for (uint32_t at = 0; at < orders.senders; at++)
            send_stamp(senders[at].socket, (struct stamp){at, number, next_payload(&states[at])});
    for (uint32_t at = 0; at < orders.senders; at++)
        send_stamp(senders[at].socket, (struct stamp){at, END, 0});
}

_Noreturn static void serve(void)
{
    int asks = is_cell("req");
    enum sp_kind kind = asks ? SP_REP : is_cell("pair") ? SP_PAIR : SP_PULL;
    sp_socket socket = sp_open(kind, orders.size);
    int port = sp_listen(socket, orders.address);
    pthread_t thread;
    start(&thread, end_with_the_input, NULL);
    printf("READY %d\n", port);
    fflush(stdout);
    if (asks) {
        answer_all(socket, 1);
    } else {
        receive_all(socket);
        printf("{");
        print_receiver();
        end_line();
    }
    for (;;)
        pause();
}

static int drive(void)
{
    enum sp_kind kind = is_cell("req") ? SP_REQ : is_cell("pair") ? SP_PAIR : SP_PUSH;
    int shared = is_cell("threads") && SP_THREADS_SHARE_A_SOCKET;
    struct sender *senders = calloc(orders.senders, sizeof *senders);
    for (uint32_t at = 0; at < orders.senders; at++) {
        senders[at].number = at;
        if (at && shared) {
            senders[at].socket = senders[0].socket;
            continue;
        }
        senders[at].socket = sp_open(kind, orders.size);
        sp_dial(senders[at].socket, orders.address);
    }
    ready_and_go();
    if (is_cell("req"))
        ask_all(senders[0].socket);
    else if (is_cell("threads"))
        send_from_threads(senders);
    else
        send_in_turn(senders);
    printf("{");
    print_sender();
    end_line();
    /* The sockets stay open until the receiver has everything. */
    wait_for_end_of_input();
    return 0;
}

static void *answer_inproc(void *argument)
{
    answer_all(*(sp_socket *)argument, 0);
    return NULL;
}

/* Both ends in one process, a thread each. */
static int play(void)
{
    int asks = is_cell("req");
    sp_socket receiver = sp_open(asks ? SP_REP : SP_PULL, orders.size);
    struct sender sender = {sp_open(asks ? SP_REQ : SP_PUSH, orders.size), 0};
    pthread_t thread;
    sp_listen(receiver, orders.address);
    sp_dial(sender.socket, orders.address);
    ready_and_go();
    if (asks) {
        start(&thread, answer_inproc, &receiver);
        ask_all(sender.socket);
    } else {
        start(&thread, send_all, &sender);
        receive_all(receiver);
    }
    pthread_join(thread, NULL);
    printf("{");
    print_receiver();
    printf(", ");
    print_sender();
    end_line();
    return 0;
}

#include "fan_out.h"

int main(int count, char **arguments)
{
    const char *role = count > 1 ? arguments[1] : "", *transport = order("TRANSPORT");
    int serves = !strcmp(role, "server"), receives = !strcmp(role, "receiver");
    orders.cell = order("CELL");
    orders.size = number_ordered("SIZE");
    orders.senders = (uint32_t)number_ordered("SENDERS");
    orders.messages = number_ordered("MESSAGES");
    orders.seed = serves || receives ? 0 : (uint32_t)number_ordered("SEED");
    tallies = calloc(orders.senders, sizeof *tallies);
    if (!strcmp(transport, "inproc"))
        strcpy(orders.address, INPROC);
    else if (!strcmp(transport, "ipc"))
        snprintf(orders.address, sizeof orders.address, "ipc://%s", order("SOCKET"));
    else
        snprintf(orders.address, sizeof orders.address, "%s://127.0.0.1:%d%s",
                 strcmp(transport, "tls") ? transport : "tls+tcp", (int)number_ordered("PORT"),
                 strncmp(transport, "ws", 2) ? "" : "/");
    if (serves)
        serve();
    if (receives || !strcmp(role, "sender")) {
        rate = number_ordered("RATE");
        receives ? receive_fan_out() : send_fan_out();
    }
    if (!strcmp(role, "client"))
        return drive();
    if (!strcmp(role, "inproc"))
        return play();
    fprintf(stderr, "no such role: '%s'\n", role);
    return 1;
}
