//! The SP sockets over every transport, one line each.

wigwag_conformance::protocol_conformance!(tcp, "tcp://127.0.0.1:0");
wigwag_conformance::protocol_conformance!(ipc, "ipc://{dir}/socket");
wigwag_conformance::protocol_conformance!(socket_ipc, crate::others::socket_ipc_address());
wigwag_conformance::protocol_conformance!(abstract_name, "abstract://{name}");
wigwag_conformance::protocol_conformance!(tls_tcp, crate::others::certified_address());
wigwag_conformance::protocol_conformance!(inproc, "inproc://{name}");
wigwag_conformance::protocol_conformance!(shm, "shm://{dir}/socket");
wigwag_conformance::protocol_conformance!(ws, "ws://127.0.0.1:0");
