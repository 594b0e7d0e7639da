//! Every transport, one line each.

wigwag_conformance::transport_conformance!(tcp, "tcp://127.0.0.1:0");
wigwag_conformance::transport_conformance!(ipc, "ipc://{dir}/socket");
wigwag_conformance::transport_conformance!(abstract_name, "abstract://{name}");
wigwag_conformance::transport_conformance!(ipc_abstract_name, "ipc://@{name}");
wigwag_conformance::transport_conformance!(tcp_v6, "tcp://[::1]:0");
wigwag_conformance::transport_conformance!(tls_tcp, crate::others::certified_address());
wigwag_conformance::transport_conformance!(inproc, "inproc://{name}");
