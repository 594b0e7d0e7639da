//! Every transport, one line each.

wigwag_conformance::transport_conformance!(tcp, "tcp://127.0.0.1:0");
wigwag_conformance::transport_conformance!(ipc, "ipc://{dir}/socket");
wigwag_conformance::transport_conformance!(inproc, "inproc://{name}");
