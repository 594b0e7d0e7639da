//! The role of a socket: its protocol, its partner, and the command that starts it.

use wigwag::sp::ProtocolNumber;

use super::endpoint::{ConnectMode, quoted};

/// One end of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Req,
    Rep,
    Pub,
    Sub,
    Push,
    Pull,
    Survey,
    Respond,
    Pair,
    /// Pair version 0, the only version that nanomsg supports.
    Pair0,
    Bus,
    Star,
}

const ROLES: [(Role, ProtocolNumber); 12] = [
    (Role::Req, ProtocolNumber::REQ),
    (Role::Rep, ProtocolNumber::REP),
    (Role::Pub, ProtocolNumber::PUB),
    (Role::Sub, ProtocolNumber::SUB),
    (Role::Push, ProtocolNumber::PUSH),
    (Role::Pull, ProtocolNumber::PULL),
    (Role::Survey, ProtocolNumber::SURVEYOR),
    (Role::Respond, ProtocolNumber::RESPONDENT),
    (Role::Pair, ProtocolNumber::PAIR1),
    (Role::Pair0, ProtocolNumber::PAIR0),
    (Role::Bus, ProtocolNumber::BUS),
    (Role::Star, ProtocolNumber::STAR),
];

impl Role {
    /// The protocol number that the role announces on the wire.
    pub(crate) fn number(self) -> ProtocolNumber {
        let found = ROLES.iter().find(|(role, _)| *role == self);
        found.map_or(ProtocolNumber(0), |(_, number)| *number)
    }

    /// The role with the protocol number `number`.
    pub(crate) fn of(number: ProtocolNumber) -> Option<Role> {
        ROLES.iter().find(|(_, known)| *known == number).map(|(role, _)| *role)
    }

    /// The only role that this one can connect to.
    pub(crate) fn partner(self) -> Role {
        self.number().partner().and_then(Role::of).unwrap_or(self)
    }

    /// Whether the role listens or dials by default: servers listen, clients dial.
    pub(crate) fn default_mode(self) -> ConnectMode {
        match self {
            Role::Rep | Role::Pull | Role::Pub | Role::Respond => ConnectMode::Listen,
            _ => ConnectMode::Dial,
        }
    }

    /// The subcommand of `wigwag`.
    fn words(self) -> &'static str {
        match self {
            Role::Req => "req",
            Role::Rep => "rep",
            Role::Pub => "pub",
            Role::Sub => "sub",
            Role::Push => "push",
            Role::Pull => "pull",
            Role::Survey => "survey",
            Role::Respond => "respond",
            Role::Pair => "pair",
            Role::Pair0 => "pair --v0",
            Role::Bus => "bus",
            Role::Star => "star",
        }
    }

    /// The SP implementations that have the partner role and the transport of `address`.
    pub(crate) fn peer_libraries(self, address: &str) -> &'static str {
        let has_nanomsg = !["tls+tcp://", "wss://"].iter().any(|tls| address.starts_with(tls));
        match self {
            _ if address.starts_with("shm://") => "wigwag",
            Role::Star => "mangos",
            Role::Pair => "NNG or mangos",
            _ if !has_nanomsg => "NNG or mangos",
            _ => "nanomsg, NNG or mangos",
        }
    }

    /// The command line for this role at `address`; `text` is the message, if the role sends.
    pub(crate) fn command(self, mode: ConnectMode, address: &str, text: &str) -> String {
        let mut command = format!("wigwag {}", self.words());
        if mode != self.default_mode() {
            command += if mode == ConnectMode::Dial { " --dial" } else { " --listen" };
        }
        command += &format!(" {}", quoted(address));
        match self {
            Role::Rep | Role::Respond => command += " --echo",
            Role::Sub | Role::Pull => {}
            _ => command += &format!(" {}", quoted(text)),
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_mutual_for_every_role() {
        for (role, number) in ROLES {
            assert_eq!((role.number(), Role::of(number)), (number, Some(role)));
            assert_eq!(role.partner().partner(), role);
            assert_eq!(role.number().partner(), Some(role.partner().number()));
        }
    }

    #[test]
    fn the_command_exists_for_every_role_and_connect_mode() {
        for (role, _) in ROLES {
            for mode in [ConnectMode::Dial, ConnectMode::Listen] {
                let line = role.command(mode, "tcp://127.0.0.1:7001", "a b");
                assert_eq!(crate::command_lines::parses(&line), Ok(()));
            }
        }
    }

    #[test]
    fn the_command_names_the_connect_mode_only_if_it_is_not_the_default() {
        let command = |role: Role, mode| role.command(mode, "tcp://127.0.0.1:7001", "a b");
        assert_eq!(
            command(Role::Push, ConnectMode::Dial),
            "wigwag push tcp://127.0.0.1:7001 'a b'"
        );
        assert_eq!(
            command(Role::Rep, ConnectMode::Listen),
            "wigwag rep tcp://127.0.0.1:7001 --echo"
        );
        assert_eq!(
            command(Role::Pull, ConnectMode::Dial),
            "wigwag pull --dial tcp://127.0.0.1:7001"
        );
    }
}
