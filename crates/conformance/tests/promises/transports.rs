//! Every transport, one line each.

wigwag_conformance::transport_conformance!(tcp, "tcp://127.0.0.1:0");
wigwag_conformance::transport_conformance!(ipc, "ipc://{dir}/socket");
wigwag_conformance::transport_conformance!(socket_ipc, crate::others::socket_ipc_address());
wigwag_conformance::transport_conformance!(abstract_name, "abstract://{name}");
wigwag_conformance::transport_conformance!(ipc_abstract_name, "ipc://@{name}");
wigwag_conformance::transport_conformance!(tcp_v6, "tcp://[::1]:0");
wigwag_conformance::transport_conformance!(tls_tcp, crate::others::certified_address());
wigwag_conformance::transport_conformance!(inproc, "inproc://{name}");
wigwag_conformance::transport_conformance!(shm, "shm://{dir}/socket");
wigwag_conformance::transport_conformance!(ws, "ws://127.0.0.1:0");
wigwag_conformance::transport_conformance!(ws_v6_path, "ws://[::1]:0/a/path");
wigwag_conformance::transport_conformance!(wss, crate::others::certified_ws_address());
