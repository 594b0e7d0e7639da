//! Steps with references in answers, before and after these come.

use std::time::Duration;

use super::desk::{Desk, DeskRef};
use super::driver::{Driver, Entry, asked};

fn one(found: Option<DeskRef>) -> Vec<DeskRef> {
    found.into_iter().collect()
}

impl Driver {
    /// Asks for references, and keeps some of them.
    pub(super) async fn receive(&mut self, entry: &Entry, other: &Entry, limit: Duration) {
        let (desk, given) = (&entry.desk, other.desk.clone());
        let (later, fails) = (self.draws.between(0, 30), self.one_in(3));
        let (what, found) = match self.draws.between(0, 10) {
            0 => ("echo", asked(desk.echo(given).timeout(limit).ask().await).map(|one| vec![one])),
            1 => ("swap", asked(desk.swap(given).timeout(limit).ask().await).map(one)),
            2 => ("find", asked(desk.find().timeout(limit).ask().await).map(one)),
            3 => {
                let found = asked(desk.look_up(fails).timeout(limit).ask().await);
                ("look up", found.map(|found| one(found.ok())))
            }
            4 => ("find later", asked(desk.find_later(later).timeout(limit).ask().await).map(one)),
            5 => ("find aside", asked(desk.find_aside(later).timeout(limit).ask().await).map(one)),
            6 => ("all", asked(desk.all().timeout(limit).ask().await)),
            7 => {
                let folder = asked(desk.folder().timeout(limit).ask().await);
                (
                    "folder",
                    folder.map(|folder| folder.desk.into_iter().chain(folder.more).collect()),
                )
            }
            8 => ("fresh", asked(desk.fresh().timeout(limit).ask().await).map(|one| vec![one])),
            9 => ("find behind", asked(desk.find_behind().timeout(limit).ask().await).map(one)),
            _ => ("find through", asked(desk.find_through().timeout(limit).ask().await).map(one)),
        };
        let found = self.outcome(what, limit, entry, found).unwrap_or_default();
        let most = self.draws.between(0, 3) as usize;
        for desk in found.into_iter().take(most) {
            self.add(desk, what, None);
        }
    }

    /// Takes a reference in an answer that has not come.
    pub(super) fn pipe(&mut self, entry: &Entry) {
        let desk = &entry.desk;
        let later = self.draws.between(0, 40);
        let piped: DeskRef = match self.draws.between(0, 8) {
            0 => desk.find().pipe(),
            1 => desk.look_up(later.is_multiple_of(3)).pipe(),
            2 => desk.find_later(later).pipe(),
            3 => desk.find_aside(later).pipe(),
            4 => desk.never_found().pipe(),
            5 => desk.fresh().pipe(),
            6 => desk.itself().pipe(),
            7 => desk.find_behind().pipe(),
            _ => desk.find_aside(later).pipe::<Desk>().itself().pipe::<Desk>().find().pipe(),
        };
        self.add(piped, "piped", None);
    }
}
