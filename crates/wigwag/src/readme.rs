//! The snippets of the README and the guides, which `cargo test --doc` compiles and runs.
#![doc = include_str!("../../../README.md")]

#[doc = include_str!("../../../docs/guide.md")]
mod guide {}

#[doc = include_str!("../../../docs/versions.md")]
mod versions {}

#[doc = include_str!("../../../docs/from-erlang.md")]
mod from_erlang {}

#[doc = include_str!("../../../docs/from-akka.md")]
mod from_akka {}

#[doc = include_str!("../../../docs/from-actix-ractor-kameo.md")]
mod from_actix_ractor_kameo {}

#[doc = include_str!("../../../docs/options.md")]
mod options {}

#[doc = include_str!("../../../docs/transports.md")]
mod transports {}

#[doc = include_str!("../../../docs/protocols/pair.md")]
mod pair {}

#[doc = include_str!("../../../docs/protocols/request-reply.md")]
mod request_reply {}

#[doc = include_str!("../../../docs/protocols/publish-subscribe.md")]
mod publish_subscribe {}

#[doc = include_str!("../../../docs/protocols/pipeline.md")]
mod pipeline {}

#[doc = include_str!("../../../docs/protocols/survey.md")]
mod survey {}

#[doc = include_str!("../../../docs/protocols/bus.md")]
mod bus {}

#[doc = include_str!("../../../docs/protocols/star.md")]
mod star {}

#[doc = include_str!("../../../docs/io.md")]
mod io {}

#[doc = include_str!("../../../docs/clients.md")]
mod clients {}
