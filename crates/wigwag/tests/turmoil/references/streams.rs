//! Steps with streams, as answers and as arguments.

use std::time::Duration;

use wigwag::Items;
use wigwag_testkit::ledger::in_time;

use super::driver::{Driver, Entry, LONG, asked};
use crate::PATIENCE;

impl Driver {
    /// Reads numbers of an actor, all or some.
    pub(super) async fn read_numbers(&mut self, entry: &Entry) {
        let count = self.draws.between(0, 60);
        let wanted = if self.one_in(2) { u64::MAX } else { self.draws.between(0, count) };
        let mut items = match self.one_in(2) {
            true => entry.desk.numbers(count),
            false => entry.desk.numbers_aside(count),
        };
        let mut next = 0;
        while next < wanted {
            let error = match in_time(PATIENCE, items.next()).await {
                Some(Ok(number)) if number == next => {
                    next += 1;
                    continue;
                }
                Some(Err(error)) => {
                    self.outcome::<()>("numbers", LONG, entry, Err(error.kind));
                    return;
                }
                Some(Ok(number)) => format!("item {number} came instead of {next}"),
                None if next == count => return,
                None => format!("a stream ended after {next} of {count}"),
            };
            return self.world.wrong(error);
        }
    }

    /// Sends a stream as an argument. Each side may leave it.
    pub(super) async fn send_rows(&mut self, entry: &Entry, limit: Duration) {
        let count = self.draws.between(0, 60);
        let most = if self.one_in(3) { self.draws.between(0, count) } else { u64::MAX };
        let leaves = self.one_in(4).then(|| self.draws.between(0, count));
        let (mut sender, rows) = Items::channel(self.draws.between(1, 5) as usize);
        let sending = tokio::spawn(async move {
            for number in 0..count {
                if leaves == Some(number) || sender.send(number).await.is_err() {
                    return;
                }
            }
            sender.finish();
        });
        let outcome = match self.draws.between(0, 4) {
            0 => asked(entry.desk.drop_rows(rows).timeout(limit).ask().await).map(|()| None),
            1 => asked(entry.desk.pass(rows, most).timeout(limit).ask().await).map(|_| None),
            _ => asked(entry.desk.read(rows, most).timeout(limit).ask().await).map(Some),
        };
        let read = self.outcome("rows", limit, entry, outcome).flatten();
        let expected = (count.min(most), most > count);
        if let Some(read) = read
            && leaves.is_none()
            && read != expected
            && !self.world.loses_sessions()
        {
            self.world.wrong(format!("{read:?} was read instead of {expected:?}"));
        }
        in_time(PATIENCE, sending).await.unwrap();
    }

    /// Reads references from a stream, or sends them in one.
    pub(super) async fn desks_in_streams(&mut self, entry: &Entry, limit: Duration) {
        if self.one_in(2) {
            let mut items = entry.desk.desks();
            for _ in 0..self.draws.between(0, 5) {
                match in_time(PATIENCE, items.next()).await {
                    Some(Ok(desk)) => self.add(desk, "item", None),
                    Some(Err(error)) => {
                        self.outcome::<()>("desks", LONG, entry, Err(error.kind));
                        return;
                    }
                    None => return,
                }
            }
            return;
        }
        let sent = self.pool.iter().filter(|one| !one.is_piped).take(5);
        let sent: Vec<_> = sent.map(|one| one.desk.clone()).collect();
        let (mut sender, rows) = Items::channel(2);
        let sending = tokio::spawn(async move {
            for desk in sent {
                if sender.send(desk).await.is_err() {
                    return;
                }
            }
            sender.finish();
        });
        let most = self.draws.between(0, 6);
        let outcome = asked(entry.desk.read_desks(rows, most).timeout(limit).ask().await);
        self.outcome("read desks", limit, entry, outcome);
        in_time(PATIENCE, sending).await.unwrap();
    }
}
