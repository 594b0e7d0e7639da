//! Steps with numbered calls, and with references as arguments.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use wigwag::DeliveryStatus;

use super::desk::Folder;
use super::driver::{Driver, Entry, LONG, asked, told};
use super::world::{Fate, Faults};

impl Driver {
    /// Tells a few numbers.
    pub(super) async fn tell(&mut self, entry: &Entry) {
        let (desk, sender) = (&entry.desk, entry.sender);
        for _ in 0..self.draws.between(1, 6) {
            let number = self.world.next_number(sender);
            let sent = match self.one_in(3) {
                true => told(desk.note(sender, number).try_tell()),
                false => told(desk.note(sender, number).timeout(LONG).tell().await),
            };
            let fate = if sent.is_ok() { Fate::Told } else { Fate::NotHandled };
            self.world.fate(sender, number, fate);
            self.outcome("tell", LONG, entry, sent);
        }
    }

    pub(super) async fn ask(&mut self, entry: &Entry, limit: Duration) {
        let (sender, number) = (entry.sender, self.world.next_number(entry.sender));
        let later = self.draws.between(0, 30);
        let call = match self.one_in(3) {
            true => entry.desk.note_later(sender, number, later),
            false => entry.desk.note(sender, number),
        };
        let outcome = asked(call.timeout(limit).ask().await);
        let fate = match &outcome {
            Ok(answer) => {
                if *answer != number {
                    self.world.wrong(format!("sender {sender} got the answer to another ask"));
                }
                Fate::Handled
            }
            // The error may be that of the ask that it waits for.
            Err(_) if entry.is_piped => Fate::Unknown,
            Err(kind) => match Fate::of(DeliveryStatus::of(*kind)) {
                // A handler that waits when its host crashes has begun, and does not get to its note.
                Fate::Handled if self.world.faults == Faults::Crashes => Fate::Unknown,
                fate => fate,
            },
        };
        self.world.fate(sender, number, fate);
        self.outcome("ask", limit, entry, outcome);
    }

    /// Asks for a number and for a reference, and gives up the answers at some time.
    pub(super) async fn give_up(&mut self, entry: &Entry) {
        let number = self.world.next_number(entry.sender);
        let (later, wait) = (self.draws.between(0, 30), self.draws.pause(0, 30));
        let call = entry.desk.note_later(entry.sender, number, later);
        if self.one_in(2) {
            drop(timeout(wait, call.ask()).await);
        } else if let Ok(answer) = call.try_ask() {
            sleep(wait).await;
            drop(answer);
        }
        let (later, wait) = (self.draws.between(0, 30), self.draws.pause(0, 30));
        let call = match self.draws.between(0, 2) {
            0 => entry.desk.find_later(later),
            1 => entry.desk.find_aside(later),
            _ => entry.desk.find(),
        };
        if self.one_in(2) {
            drop(timeout(wait, call.ask()).await);
        } else if let Ok(answer) = call.try_ask() {
            sleep(wait).await;
            drop(answer);
        }
    }

    /// Passes references on, alone and within other values.
    pub(super) async fn put(&mut self, entry: &Entry, other: &Entry, limit: Duration) {
        let (desk, given) = (&entry.desk, other.desk.clone());
        let more = self.pool.iter().filter(|one| !one.is_piped).take(3);
        let more = more.map(|one| one.desk.clone()).collect();
        let folder = Folder { desk: Some(given.clone()), more };
        let last = self.one_in(2).then(|| given.clone());
        let outcome = match self.draws.between(0, 5) {
            0 => told(desk.put(given).timeout(LONG).tell().await),
            1 => told(desk.put_all(folder, last).try_tell()),
            2 => asked(desk.put_all(folder, last).timeout(limit).ask().await),
            3 => told(desk.ignore(folder, last).timeout(limit).tell().await),
            4 => asked(desk.ignore(folder, last).timeout(limit).ask().await),
            _ => asked(desk.put(given).timeout(limit).ask().await).map(drop),
        };
        self.outcome("put", limit, entry, outcome);
    }
}
