/*
 * nanomsg: sockets after the manual pages nn_send(3) and nn_recv(3), with NN_MSG, so that neither
 * side copies a message. A socket may be used by several threads, so they share one.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <nanomsg/pipeline.h>
#include <nanomsg/pubsub.h>
#include <nanomsg/reqrep.h>

#define SP_THREADS_SHARE_A_SOCKET 1

typedef int sp_socket;

typedef struct {
    uint8_t *bytes;
    size_t size;
} sp_message;

enum sp_kind {
    SP_REQ = NN_REQ,
    SP_REP = NN_REP,
    SP_PUSH = NN_PUSH,
    SP_PULL = NN_PULL,
    SP_PAIR = NN_PAIR,
    SP_PUB = NN_PUB,
    SP_SUB = NN_SUB
};

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, nn_strerror(nn_errno()));
    exit(1);
}

static sp_socket sp_open(enum sp_kind kind, size_t size)
{
    int opened = nn_socket(AF_SP, (int)kind);
    (void)size;
    if (opened < 0)
        fail("nn_socket");
    return opened;
}

/* nanomsg does not tell which port it got, so it is given one that the kernel has chosen. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int chosen = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(chosen, (struct sockaddr *)&address, length) < 0 ||
        getsockname(chosen, (struct sockaddr *)&address, &length) < 0) {
        perror("a port");
        exit(1);
    }
    close(chosen);
    return ntohs(address.sin_port);
}

static int sp_listen(sp_socket socket, const char *address)
{
    char chosen[64];
    int port = 0;
    if (!strncmp(address, "tcp://", 6)) {
        port = free_port();
        snprintf(chosen, sizeof chosen, "tcp://127.0.0.1:%d", port);
        address = chosen;
    }
    if (nn_bind(socket, address) < 0)
        fail("nn_bind");
    return port;
}

static void sp_dial(sp_socket socket, const char *address)
{
    if (nn_connect(socket, address) < 0)
        fail("nn_connect");
}

/* Queues have no length in messages: a PUB drops what comes before the last one was written. */
static void sp_set_queue(sp_socket socket, int messages)
{
    (void)socket;
    (void)messages;
}

static void sp_subscribe(sp_socket socket)
{
    if (nn_setsockopt(socket, NN_SUB, NN_SUB_SUBSCRIBE, "", 0) < 0)
        fail("NN_SUB_SUBSCRIBE");
}

static void sp_new(sp_message *message, size_t size)
{
    message->size = size;
    message->bytes = nn_allocmsg(size, 0);
    if (!message->bytes)
        fail("nn_allocmsg");
}

static uint8_t *sp_bytes(sp_message *message)
{
    return message->bytes;
}

static size_t sp_size(sp_message *message)
{
    return message->size;
}

static void sp_send(sp_socket socket, sp_message *message)
{
    if (nn_send(socket, &message->bytes, NN_MSG, 0) < 0)
        fail("nn_send");
}

static void sp_receive(sp_socket socket, sp_message *message)
{
    int size = nn_recv(socket, &message->bytes, NN_MSG, 0);
    if (size < 0)
        fail("nn_recv");
    message->size = (size_t)size;
}

static void sp_free(sp_message *message)
{
    nn_freemsg(message->bytes);
}

#include "../c-common/sp.h"
