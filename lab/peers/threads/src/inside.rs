//! What else is done within the process, each with a bounded channel of its own.

use std::sync::mpsc::{SyncSender as Sender, sync_channel as bounded};

peer_common::channel_cells!();
