//! The actor session between two nodes as a pure state machine: frames, credit, slots, outbox.
