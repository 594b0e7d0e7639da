//! What else is done within the process, each with a bounded channel of its own.

use flume::{Sender, bounded};

peer_common::channel_cells!();
