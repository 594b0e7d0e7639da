//! Bytes and numbers that every floor of wigwag shares: cursors, MessagePack, time, SP framing.
