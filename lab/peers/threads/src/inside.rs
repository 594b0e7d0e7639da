//! The cells within one process, each receiver with a bounded channel of its own.

use std::sync::mpsc::{SyncSender as Sender, sync_channel as bounded};

peer_common::channel_cells!();
