/*
 * libzmq: sockets after the manual pages zmq_msg_send(3) and zmq_msg_recv(3), over ZeroMQ's own
 * wire. A socket belongs to one thread, so each thread has one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#define SP_THREADS_SHARE_A_SOCKET 0

/* Bytes that may wait in a queue. The default of 1,000 messages would hold a gigabyte of them on
 * either side where each has a megabyte; the guide says to set the mark for such. */
#define QUEUE_BYTES (64u << 20)

typedef void *sp_socket;
typedef zmq_msg_t sp_message;

enum sp_kind {
    SP_REQ = ZMQ_REQ,
    SP_REP = ZMQ_REP,
    SP_PUSH = ZMQ_PUSH,
    SP_PULL = ZMQ_PULL,
    SP_PAIR = ZMQ_PAIR,
    SP_PUB = ZMQ_PUB,
    SP_SUB = ZMQ_SUB
};

static void check(int failed, const char *what)
{
    if (failed) {
        fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
        exit(1);
    }
}

static sp_socket sp_open(enum sp_kind kind, size_t size)
{
    static void *context;
    size_t most = QUEUE_BYTES / size;
    int mark = most < 1000 ? (int)most : 1000;
    if (!context)
        context = zmq_ctx_new();
    void *opened = zmq_socket(context, (int)kind);
    check(!opened, "zmq_socket");
    check(zmq_setsockopt(opened, ZMQ_SNDHWM, &mark, sizeof mark) < 0, "ZMQ_SNDHWM");
    check(zmq_setsockopt(opened, ZMQ_RCVHWM, &mark, sizeof mark) < 0, "ZMQ_RCVHWM");
    return opened;
}

/* A mark that is set before the socket is bound or connected holds for every peer. */
static void sp_set_queue(sp_socket socket, int messages)
{
    check(zmq_setsockopt(socket, ZMQ_SNDHWM, &messages, sizeof messages) < 0, "ZMQ_SNDHWM");
    check(zmq_setsockopt(socket, ZMQ_RCVHWM, &messages, sizeof messages) < 0, "ZMQ_RCVHWM");
}

static void sp_subscribe(sp_socket socket)
{
    check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0) < 0, "ZMQ_SUBSCRIBE");
}

static int sp_listen(sp_socket socket, const char *address)
{
    char bound[256];
    size_t length = sizeof bound;
    int tcp = !strncmp(address, "tcp://", 6);
    check(zmq_bind(socket, tcp ? "tcp://127.0.0.1:*" : address) < 0, "zmq_bind");
    if (!tcp)
        return 0;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &length) < 0, "ZMQ_LAST_ENDPOINT");
    return atoi(strrchr(bound, ':') + 1);
}

static void sp_dial(sp_socket socket, const char *address)
{
    check(zmq_connect(socket, address) < 0, "zmq_connect");
}

static void sp_new(sp_message *message, size_t size)
{
    check(zmq_msg_init_size(message, size) < 0, "zmq_msg_init_size");
}

static uint8_t *sp_bytes(sp_message *message)
{
    return zmq_msg_data(message);
}

static size_t sp_size(sp_message *message)
{
    return zmq_msg_size(message);
}

static void sp_send(sp_socket socket, sp_message *message)
{
    check(zmq_msg_send(message, socket, 0) < 0, "zmq_msg_send");
}

static void sp_receive(sp_socket socket, sp_message *message)
{
    zmq_msg_init(message);
    check(zmq_msg_recv(message, socket, 0) < 0, "zmq_msg_recv");
}

static void sp_free(sp_message *message)
{
    zmq_msg_close(message);
}

#include "../c-common/sp.h"
