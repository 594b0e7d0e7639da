//! Feature bits of HELLO; a feature is on if both sides offer it (section 1).

/// Streams: an ask is answered with many values, and there is credit for them (section 6). It is on
/// only together with *cancelling*, without which a reader could not leave a stream that has not
/// begun.
pub const STREAMS: u64 = 1;

/// Parts: a call or an answer that is longer than a frame may be is sent in parts (section 3).
pub const PARTS: u64 = 1 << 1;

/// Resumption: sessions outlive their connections (section 7).
pub const RESUME: u64 = 1 << 3;

/// Runs: many short calls or replies behind one head (section 3).
pub const RUNS: u64 = 1 << 4;

/// Arguments of fixed width: codec 1 of a channel (section 4).
pub const FIXED: u64 = 1 << 5;

/// Outcomes: the receiver counts handled and rejected tells, and reports why it rejected them
/// (section 4).
pub const OUTCOMES: u64 = 1 << 6;

/// Cancelling: a cancelled ask that has not begun is not handled, and its answer says so (section
/// 6). An earlier release also sends CANCEL for calls that are to be handled nevertheless.
pub const CANCELLING: u64 = 1 << 7;

/// Mixed runs: runs of calls of several methods (section 3). It is on only together with *runs*.
pub const MIXED_RUNS: u64 = 1 << 8;

/// References: a reference to an actor is a value of a call or a reply, and its receiver attaches by
/// it (section 9).
pub const REFERENCES: u64 = 1 << 9;

/// Trace context: a call carries the trace that it belongs to (section 3). Offered only if the options
/// of the node say so.
pub const TRACE_CONTEXT: u64 = 1 << 10;

/// Pipes: a channel is opened to the actor that the reference in an answer leads to, before the answer
/// has come (section 9). It is on only together with *references*.
pub const PIPES: u64 = 1 << 11;

/// Stream values: a stream of items is a value of a call or a reply, and its sender sends the items
/// (section 6).
pub const STREAM_VALUES: u64 = 1 << 12;

/// Links: an actor is linked to one of the other node, and each ends with the other (section 9). It
/// is on only together with *references*.
pub const LINKS: u64 = 1 << 14;

/// The features that this crate offers.
pub const OFFERED: u64 = LINKS
    | STREAM_VALUES
    | PIPES
    | TRACE_CONTEXT
    | REFERENCES
    | MIXED_RUNS
    | CANCELLING
    | OUTCOMES
    | FIXED
    | RUNS
    | RESUME
    | PARTS
    | STREAMS;

/// The features of a session with a peer that offers `peer`.
pub fn on(peer: u64) -> u64 {
    peer & OFFERED
}

/// True if pipes are among the features of a session.
pub fn has_pipes(features: u64) -> bool {
    features & (PIPES | REFERENCES) == PIPES | REFERENCES
}

/// True if links are among the features of a session.
pub fn has_links(features: u64) -> bool {
    features & (LINKS | REFERENCES) == LINKS | REFERENCES
}

/// True if streams are among the features of a session.
pub fn has_streams(features: u64) -> bool {
    features & (STREAMS | CANCELLING) == STREAMS | CANCELLING
}

/// True if mixed runs are among the features of a session.
pub fn has_mixed_runs(features: u64) -> bool {
    features & (RUNS | MIXED_RUNS) == RUNS | MIXED_RUNS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits are part of the protocol.
    #[test]
    fn features_have_the_bits_of_the_protocol() {
        assert_eq!([PARTS, RESUME, RUNS, FIXED, OUTCOMES, CANCELLING], [2, 8, 16, 32, 64, 128]);
        assert_eq!([MIXED_RUNS, REFERENCES, STREAMS], [256, 512, 1]);
        assert_eq!([TRACE_CONTEXT, PIPES, STREAM_VALUES, LINKS], [1024, 2048, 4096, 16384]);
        let all = STREAMS
            | PARTS
            | RESUME
            | RUNS
            | FIXED
            | OUTCOMES
            | CANCELLING
            | MIXED_RUNS
            | REFERENCES
            | TRACE_CONTEXT
            | PIPES
            | STREAM_VALUES
            | LINKS;
        assert_eq!(on(u64::MAX), all);
        assert_eq!(on(RUNS | 4), RUNS);
    }

    #[test]
    fn streams_need_cancelling() {
        let features = [0, STREAMS, CANCELLING, STREAMS | CANCELLING];
        assert_eq!(features.map(has_streams), [false, false, false, true]);
    }

    #[test]
    fn pipes_need_references() {
        let features = [0, PIPES, REFERENCES, PIPES | REFERENCES];
        assert_eq!(features.map(has_pipes), [false, false, false, true]);
    }

    #[test]
    fn links_need_references() {
        let features = [0, LINKS, REFERENCES, LINKS | REFERENCES];
        assert_eq!(features.map(has_links), [false, false, false, true]);
    }

    #[test]
    fn mixed_runs_need_runs() {
        let features = [0, RUNS, MIXED_RUNS, RUNS | MIXED_RUNS];
        assert_eq!(features.map(has_mixed_runs), [false, false, false, true]);
    }
}
