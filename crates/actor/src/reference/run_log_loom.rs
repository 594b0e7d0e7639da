//! A run log that another thread has closed may still get a call, because its writer reads the
//! closing without a lock. A call that follows it in a later log must be taken behind it.

use std::sync::Arc;

use loom::thread;

use crate::reference::run_log::{RunLog, Writer, ends};
use crate::sync::{AtomicBool, Ordering};

fn take_all(logs: &mut [RunLog], taken: &mut Vec<u8>) {
    let ends = ends(logs.iter());
    for (log, end) in logs.iter_mut().zip(ends) {
        taken.extend(log.take(end));
    }
}

fn append(writer: &mut Writer, byte: u8) {
    writer.room::<1>().unwrap()[0] = byte;
    writer.keep::<1>(1);
}

#[test]
fn loom_a_call_in_a_closed_log_is_taken_before_what_follows_it() {
    loom::model(|| {
        let ((mut older, older_log), (mut newer, newer_log)) = (RunLog::new(), RunLog::new());
        let mut logs = [older_log, newer_log];
        logs[0].close();
        let is_sent = Arc::new(AtomicBool::new(false));
        let first = {
            let is_sent = is_sent.clone();
            thread::spawn(move || {
                // It may not have noticed the closing.
                append(&mut older, 1);
                is_sent.store(true, Ordering::Release);
            })
        };
        let second = thread::spawn(move || {
            if is_sent.load(Ordering::Acquire) {
                append(&mut newer, 2);
            }
        });
        let mut taken = Vec::new();
        take_all(&mut logs, &mut taken);
        first.join().unwrap();
        second.join().unwrap();
        take_all(&mut logs, &mut taken);
        assert!([&[1][..], &[1, 2]].contains(&&taken[..]), "{taken:?}");
    });
}

#[test]
fn loom_a_log_that_is_closed_in_between_loses_nothing() {
    loom::model(|| {
        let (mut writer, mut log) = RunLog::new();
        let appended = thread::spawn(move || {
            let mut count = 0;
            while count < 2 && !writer.is_closed() {
                append(&mut writer, count);
                count += 1;
            }
            count
        });
        let mut taken = log.take(log.end()).to_vec();
        log.close();
        let count = appended.join().unwrap();
        taken.extend(log.take(log.end()).to_vec());
        assert_eq!(taken, (0..count).collect::<Vec<_>>());
    });
}

/// A thread that closes the log and then reads its end takes each call, or else the writer is told
/// that it has come too late.
#[test]
fn loom_a_call_behind_the_closing_is_taken_or_reported_as_late() {
    loom::model(|| {
        let (mut writer, mut log) = RunLog::new();
        let appended = thread::spawn(move || {
            if writer.is_closed() {
                return None;
            }
            writer.room::<1>().unwrap()[0] = 7;
            Some(writer.keep_checked::<1>(1))
        });
        log.close();
        let is_taken = !log.take(log.end()).is_empty();
        match appended.join().unwrap() {
            None => assert!(!is_taken),
            Some(is_late) => assert!(is_taken || is_late),
        }
    });
}
