/*
 * pingpong in C: one thread and one epoll instance for all connections.
 *
 * After the Linux manual page epoll(7), "Example for suggested usage", level-triggered. Tokens go
 * as they lie in memory, which is little-endian on all machines that this is built for.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 256
/* Connections by file descriptor; the lab opens a hundred. */
#define DESCRIPTORS_MAX 65536

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tokens are little-endian"
#endif

/* A token may come in pieces: `have` bytes of it are here. */
struct connection {
    uint8_t bytes[4];
    unsigned have;
    uint32_t state; /* client: the payload in flight */
    uint64_t left;  /* client: replies still to come */
};

static struct connection connections[DESCRIPTORS_MAX];
static int poller;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t order(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) {
        fprintf(stderr, "no order %s\n", name);
        exit(1);
    }
    uint64_t value = strtoull(text, &end, 10);
    if (*end) {
        fprintf(stderr, "%s is '%s', not a number\n", name, text);
        exit(1);
    }
    return value;
}

static void watch(int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) < 0)
        fail("epoll_ctl");
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void without_delay(int descriptor)
{
    int on = 1;
    if (setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        fail("TCP_NODELAY");
}

static int wait_for_events(struct epoll_event *events)
{
    for (;;) {
        int ready = epoll_wait(poller, events, EVENTS_MAX, -1);
        if (ready >= 0)
            return ready;
        if (errno != EINTR)
            fail("epoll_wait");
    }
}

/* Reads on; 1 when a whole token is there, 0 when more must come, -1 when the connection ended. */
static int read_token(int descriptor, uint32_t *token)
{
    struct connection *it = &connections[descriptor];
    ssize_t got = read(descriptor, it->bytes + it->have, 4 - it->have);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (got == 0)
        return -1;
    it->have += (unsigned)got;
    if (it->have < 4)
        return 0;
    it->have = 0;
    memcpy(token, it->bytes, 4);
    return 1;
}

/* One token is in flight at a time, so it always fits the socket's buffer. */
static int write_token(int descriptor, uint32_t token)
{
    return send(descriptor, &token, 4, MSG_NOSIGNAL) == 4;
}

static void end_with_the_lab(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

static int serve(void)
{
    uint64_t expected = order("CONNECTIONS"), opened = 0, closed = 0, requests = 0;
    struct sockaddr_in address = loopback((uint16_t)order("PORT"));
    socklen_t length = sizeof address;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, SOMAXCONN) < 0)
        fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        fail("getsockname");
    signal(SIGTERM, end_with_the_lab);
    watch(listener);
    watch(STDIN_FILENO);
    printf("READY %d\n", ntohs(address.sin_port));
    fflush(stdout);

    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int ready = wait_for_events(events);
        for (int at = 0; at < ready; at++) {
            int descriptor = events[at].data.fd;
            uint32_t token;
            if (descriptor == STDIN_FILENO) {
                char rest[64];
                if (read(STDIN_FILENO, rest, sizeof rest) <= 0)
                    return 0;
            } else if (descriptor == listener) {
                int accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                if (accepted < 0)
                    continue;
                if (accepted >= DESCRIPTORS_MAX) {
                    fprintf(stderr, "more connections than %d\n", DESCRIPTORS_MAX);
                    return 1;
                }
                without_delay(accepted);
                connections[accepted] = (struct connection){0};
                opened++;
                watch(accepted);
            } else {
                int got = read_token(descriptor, &token);
                if (got > 0)
                    requests++;
                if (got == 0 || (got > 0 && write_token(descriptor, ~token)))
                    continue;
                close(descriptor);
                closed++;
                if (closed >= expected && closed == opened) {
                    printf("{\"requests\": %llu}\n", (unsigned long long)requests);
                    fflush(stdout);
                }
            }
        }
    }
}

static uint32_t next_payload(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void ask(int descriptor)
{
    if (!write_token(descriptor, next_payload(&connections[descriptor].state)))
        fail("send");
}

static int drive(void)
{
    uint64_t count = order("CONNECTIONS"), messages = order("MESSAGES"), replies = 0, wrong = 0;
    uint32_t seed = (uint32_t)order("SEED");
    struct sockaddr_in address = loopback((uint16_t)order("PORT"));
    int *descriptors = calloc(count, sizeof *descriptors);
    if (!descriptors)
        fail("calloc");
    for (uint64_t sender = 0; sender < count; sender++) {
        int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX)
            fail("socket");
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0)
            fail("connect");
        without_delay(descriptor);
        uint32_t state = seed ^ ((uint32_t)(sender + 1) * 2654435761u);
        connections[descriptor] = (struct connection){.state = state ? state : 1, .left = messages};
        descriptors[sender] = descriptor;
        watch(descriptor);
    }
    printf("READY\n");
    fflush(stdout);
    char line[16];
    if (!fgets(line, sizeof line, stdin) || strcmp(line, "GO\n")) {
        fprintf(stderr, "no GO\n");
        return 1;
    }
    for (uint64_t sender = 0; sender < count && messages; sender++)
        ask(descriptors[sender]);

    struct epoll_event events[EVENTS_MAX];
    uint64_t unfinished = messages ? count : 0;
    while (unfinished) {
        int ready = wait_for_events(events);
        for (int at = 0; at < ready; at++) {
            int descriptor = events[at].data.fd;
            struct connection *it = &connections[descriptor];
            uint32_t reply;
            int got = read_token(descriptor, &reply);
            if (got < 0) {
                fprintf(stderr, "a connection ended with %llu replies to come\n",
                        (unsigned long long)it->left);
                return 1;
            }
            if (got == 0)
                continue;
            replies++;
            wrong += reply != ~it->state;
            if (--it->left) {
                ask(descriptor);
            } else {
                close(descriptor);
                unfinished--;
            }
        }
    }
    printf("{\"replies\": %llu, \"wrong\": %llu}\n", (unsigned long long)replies,
           (unsigned long long)wrong);
    fflush(stdout);
    return 0;
}

int main(int count, char **arguments)
{
    const char *role = count > 1 ? arguments[1] : "";
    poller = epoll_create1(0);
    if (poller < 0)
        fail("epoll_create1");
    if (!strcmp(role, "server"))
        return serve();
    if (!strcmp(role, "client"))
        return drive();
    fprintf(stderr, "no such role: '%s'\n", role);
    return 1;
}
