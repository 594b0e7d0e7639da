//! The cells within one process, each receiver with a bounded channel of its own.

use kanal::{Sender, bounded};

peer_common::channel_cells!();
