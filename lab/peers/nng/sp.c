/*
 * NNG: sockets after the manual pages nng_sendmsg(3) and nng_recvmsg(3), which copy no message. A
 * socket may be used by several threads, so they share one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pair1/pair.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

#define SP_THREADS_SHARE_A_SOCKET 1

/* Messages that may wait, where none may by default. More than 100 of them gained nothing. */
#define BUFFER 100

typedef nng_socket sp_socket;
typedef nng_msg *sp_message;

enum sp_kind { SP_REQ, SP_REP, SP_PUSH, SP_PULL, SP_PAIR, SP_PUB, SP_SUB };

static void check(int outcome, const char *what)
{
    if (outcome) {
        fprintf(stderr, "%s: %s\n", what, nng_strerror(outcome));
        exit(1);
    }
}

static sp_socket sp_open(enum sp_kind kind, size_t size)
{
    static int (*const open[])(nng_socket *) = {nng_req0_open, nng_rep0_open, nng_push0_open,
                                                nng_pull0_open, nng_pair1_open, nng_pub0_open,
                                                nng_sub0_open};
    nng_socket opened;
    (void)size;
    check(open[kind](&opened), "nng_open");
    if (kind >= SP_PUSH && kind <= SP_PAIR) {
        check(nng_socket_set_int(opened, NNG_OPT_SENDBUF, BUFFER), "NNG_OPT_SENDBUF");
        check(nng_socket_set_int(opened, NNG_OPT_RECVBUF, BUFFER), "NNG_OPT_RECVBUF");
    }
    return opened;
}

/* Each socket has one of both options, or both. */
static void sp_set_queue(sp_socket socket, int messages)
{
    int sends = nng_socket_set_int(socket, NNG_OPT_SENDBUF, messages);
    int receives = nng_socket_set_int(socket, NNG_OPT_RECVBUF, messages);
    if (sends)
        check(receives, "a queue");
}

static void sp_subscribe(sp_socket socket)
{
    check(nng_socket_set(socket, NNG_OPT_SUB_SUBSCRIBE, "", 0), "NNG_OPT_SUB_SUBSCRIBE");
}

static int sp_listen(sp_socket socket, const char *address)
{
    nng_listener listener;
    int port = 0;
    check(nng_listen(socket, address, &listener, 0), "nng_listen");
    if (!strncmp(address, "tcp://", 6))
        check(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), "the port");
    return port;
}

static void sp_dial(sp_socket socket, const char *address)
{
    check(nng_dial(socket, address, NULL, 0), "nng_dial");
}

static void sp_new(sp_message *message, size_t size)
{
    check(nng_msg_alloc(message, size), "nng_msg_alloc");
}

static uint8_t *sp_bytes(sp_message *message)
{
    return nng_msg_body(*message);
}

static size_t sp_size(sp_message *message)
{
    return nng_msg_len(*message);
}

static void sp_send(sp_socket socket, sp_message *message)
{
    check(nng_sendmsg(socket, *message, 0), "nng_sendmsg");
}

static void sp_receive(sp_socket socket, sp_message *message)
{
    check(nng_recvmsg(socket, message, 0), "nng_recvmsg");
}

static void sp_free(sp_message *message)
{
    nng_msg_free(*message);
}

#include "../c-common/sp.h"
