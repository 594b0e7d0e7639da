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
#include <nng/supplemental/tls/tls.h>
#include <nng/transport/tls/tls.h>
#include <nng/transport/ws/websocket.h>

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

/* A file of PEM as a string. */
static char *read_file(const char *path)
{
    static const long LONGEST = 1 << 16;
    char *text = calloc(1, LONGEST);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!text || !file || !fread(text, 1, LONGEST - 1, file)) {
        fprintf(stderr, "cannot read the certificate or key '%s'\n", path ? path : "");
        exit(1);
    }
    fclose(file);
    return text;
}

static int has_tls(const char *address)
{
    return !strncmp(address, "tls+", 4) || !strncmp(address, "wss:", 4);
}

static nng_tls_config *server_tls(void)
{
    nng_tls_config *config;
    char *certificate = read_file(getenv("CERT")), *key = read_file(getenv("KEY"));
    check(nng_tls_config_alloc(&config, NNG_TLS_MODE_SERVER), "nng_tls_config_alloc");
    check(nng_tls_config_own_cert(config, certificate, key, NULL), "nng_tls_config_own_cert");
    free(certificate);
    free(key);
    return config;
}

/* Mbed TLS 2 compares no addresses, so the certificate is held against its other name. */
static nng_tls_config *client_tls(void)
{
    nng_tls_config *config;
    check(nng_tls_config_alloc(&config, NNG_TLS_MODE_CLIENT), "nng_tls_config_alloc");
    check(nng_tls_config_ca_file(config, getenv("CA")), "nng_tls_config_ca_file");
    check(nng_tls_config_auth_mode(config, NNG_TLS_AUTH_MODE_REQUIRED), "the mode");
    check(nng_tls_config_server_name(config, "localhost"), "nng_tls_config_server_name");
    return config;
}

static int sp_listen(sp_socket socket, const char *address)
{
    nng_listener listener;
    int port = 0;
    check(nng_listener_create(&listener, socket, address), "nng_listener_create");
    if (has_tls(address))
        check(nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, server_tls()), "the certificate");
    check(nng_listener_start(listener, 0), "nng_listener_start");
    if (strncmp(address, "inproc:", 7) && strncmp(address, "ipc:", 4))
        check(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), "the port");
    return port;
}

static void sp_dial(sp_socket socket, const char *address)
{
    nng_dialer dialer;
    check(nng_dialer_create(&dialer, socket, address), "nng_dialer_create");
    if (has_tls(address))
        check(nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, client_tls()), "the authority");
    check(nng_dialer_start(dialer, 0), "nng_dialer_start");
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
