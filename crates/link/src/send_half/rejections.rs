//! Tells that the actors of this side have not understood, as the peer is told of them.
//!
//! The peer gets a count for each method and the reason of the first tell, never a frame for each
//! tell. The counts are sums since ATTACH, so a report may be repeated, which happens after a cut.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use wigwag_wire::Buffer;

use crate::code::Code;
use crate::frames::frame::Frame;
use crate::frames::write;

/// Methods of one channel that have a count of their own. More than that are seen only if a peer
/// makes numbers up, and are counted together.
const METHODS_MAX: usize = 8;

/// Characters of a reason: it names a method and what is wrong with its arguments.
const TEXT_CHARS_MAX: usize = 60;

/// Bytes of a batch's head beyond which the remaining reports wait for the next batch. A report has
/// at most 300 bytes.
const HEAD_BYTES_MAX: usize = 500;

/// The number that stands for all methods without a count of their own.
const OTHER_METHODS: u64 = 0;

/// The rejected tells of a session.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    channels: BTreeMap<u64, Vec<Rejection>>,
    /// Channels with counts that the peer was not told of.
    unreported: BTreeSet<u64>,
}

/// The rejected tells of one method.
#[derive(Debug)]
struct Rejection {
    method: u64,
    code: Code,
    text: String,
    tells: u64,
    /// The part of `tells` that the peer was told of.
    reported: u64,
}

impl Rejections {
    /// Counts a tell; the reason is kept if it is the first one of its method.
    pub(super) fn add(&mut self, channel: u64, method: u64, code: Code, text: &dyn fmt::Display) {
        let methods = self.channels.entry(channel).or_default();
        let is_full = methods.len() >= METHODS_MAX;
        let known = methods.iter().position(|it| it.method == method);
        let method = if is_full && known.is_none() { OTHER_METHODS } else { method };
        match methods.iter_mut().find(|it| it.method == method) {
            Some(rejection) => rejection.tells += 1,
            None => {
                let text = text.to_string().chars().take(TEXT_CHARS_MAX).collect();
                methods.push(Rejection { method, code, text, tells: 1, reported: 0 });
            }
        }
        self.unreported.insert(channel);
    }

    /// True if the peer was not told of all rejected tells.
    pub(super) fn has_unreported(&self) -> bool {
        !self.unreported.is_empty()
    }

    /// True if the peer was not told of all rejected tells of this channel.
    pub(super) fn is_unreported(&self, channel: u64) -> bool {
        self.unreported.contains(&channel)
    }

    /// Drops the counts of a channel that has ended.
    pub(super) fn forget(&mut self, channel: u64) {
        if self.channels.remove(&channel).is_some() {
            self.unreported.remove(&channel);
        }
    }

    /// Reports everything again, because reports may have been lost with a connection.
    pub(super) fn report_again(&mut self) {
        self.channels.values_mut().flatten().for_each(|rejection| rejection.reported = 0);
        self.unreported.extend(self.channels.keys());
    }

    /// Writes the reports that are due, as far as the head of a batch has room.
    pub(super) fn write(&mut self, head: &mut Buffer) {
        while let Some(channel) = self.unreported.first().copied() {
            for rejection in self.channels.get_mut(&channel).into_iter().flatten() {
                if rejection.reported == rejection.tells {
                    continue;
                }
                if head.len() >= HEAD_BYTES_MAX {
                    return;
                }
                rejection.reported = rejection.tells;
                let Rejection { method, code, ref text, tells, .. } = *rejection;
                let text = text.as_bytes();
                write::any(head, &Frame::Rejected { channel, method, tells, code, text });
            }
            self.unreported.remove(&channel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wigwag_wire::Reader;

    /// The reports in a head: channel, method, count and text.
    fn written(rejections: &mut Rejections) -> Vec<(u64, u64, u64, String)> {
        let (mut head, mut reports) = (Buffer::new(), Vec::new());
        rejections.write(&mut head);
        assert!(head.len() < 900, "{}", head.len());
        let mut reader = Reader::new(head.as_slice());
        while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
            let Ok(Frame::Rejected { channel, method, tells, text, .. }) = Frame::parse(kind, body)
            else {
                panic!("kind {kind}")
            };
            reports.push((channel, method, tells, String::from_utf8_lossy(text).into_owned()));
        }
        reports
    }

    #[test]
    fn a_million_rejected_tells_of_a_method_make_one_report_with_the_first_reason() {
        let mut rejections = Rejections::default();
        for number in 0..1_000_000 {
            rejections.add(3, 7, Code::BAD_ARGUMENTS, &format_args!("reason {number}"));
        }
        assert!(rejections.has_unreported() && rejections.is_unreported(3));
        assert_eq!(written(&mut rejections), [(3, 7, 1_000_000, "reason 0".into())]);
        assert!(!rejections.has_unreported());
        assert_eq!(written(&mut rejections), []);
        rejections.report_again();
        assert_eq!(written(&mut rejections).len(), 1, "the report may have been lost");
    }

    #[test]
    fn methods_beyond_the_limit_are_counted_together_and_long_reasons_are_cut() {
        let mut rejections = Rejections::default();
        for method in 1..=1000 {
            rejections.add(0, method, Code::NO_SUCH_METHOD, &"\u{20AC}".repeat(1000));
        }
        let mut reports = Vec::new();
        while rejections.has_unreported() {
            let some = written(&mut rejections);
            assert!(!some.is_empty(), "each head takes some");
            reports.extend(some);
        }
        assert_eq!(reports.len(), METHODS_MAX + 1);
        let others = reports.iter().find(|report| report.1 == OTHER_METHODS);
        assert_eq!(others.map(|report| report.2), Some(1000 - METHODS_MAX as u64));
        assert!(reports.iter().all(|report| report.3.chars().count() == TEXT_CHARS_MAX));
    }

    #[test]
    fn a_channel_that_has_ended_leaves_nothing() {
        let mut rejections = Rejections::default();
        rejections.add(5, 1, Code::BAD_ARGUMENTS, &"");
        rejections.forget(5);
        assert!(!rejections.has_unreported());
        rejections.report_again();
        assert!(!rejections.has_unreported());
    }
}
