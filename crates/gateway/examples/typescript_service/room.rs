//! An actor that calls back the members that have joined it.

use wigwag::{Actor, CallErrorKind};

/// A member, as the room sees it.
#[wigwag::actor]
pub(crate) trait Member {
    /// Hears what somebody has said.
    async fn heard(&mut self, number: u64, text: String);

    /// The name of the member.
    async fn name(&self) -> String;
}

#[derive(Default)]
pub(crate) struct Room {
    members: Vec<MemberRef>,
    said: u64,
}

/// Calls back its members.
#[wigwag::actor]
impl Room {
    /// Lets a member hear what is said from now on.
    pub fn join(&mut self, member: MemberRef) -> u64 {
        self.members.push(member);
        self.members.len() as u64
    }

    /// Tells every member a text.
    pub async fn say(&mut self, text: String) {
        for member in &self.members {
            // A handler waits 5 s for a member, which may be out of reach for longer. A member that has
            // gone hears nothing.
            while let Err(refused) = member.heard(self.said, text.clone()).tell().await
                && refused.error.kind == CallErrorKind::Overloaded
            {}
        }
        self.said += 1;
    }

    /// The names of the members, each asked in turn.
    pub async fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        for member in &self.members {
            names.push(match member.name().ask().await {
                Ok(name) => name,
                Err(error) => format!("error: {error}"),
            });
        }
        names
    }

    /// The members.
    pub fn members(&self) -> Vec<MemberRef> {
        self.members.clone()
    }

    /// A member of the room's own process.
    pub fn host(&self) -> MemberRef {
        MemberRef::from(&Host.spawn())
    }

    /// Forgets the members.
    pub fn leave_all(&mut self) {
        self.members.clear();
    }
}

struct Host;

#[wigwag::actor]
impl Host {
    pub fn heard(&mut self, number: u64, text: String) {
        let _ = (number, text);
    }

    pub fn name(&self) -> String {
        "host".to_owned()
    }
}
