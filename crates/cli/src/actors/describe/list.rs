//! `wigwag describe` without the name of an actor: the actors that a node exports.

use serde_json::{Value, json};
use wigwag::dynamic::ListedActor;

use super::text::COLUMNS;
use crate::print::clean;

/// The lines that list the actors of the node at `address`.
pub(crate) fn lines(listed: &[ListedActor], address: &str) -> Vec<String> {
    let widest = |text: fn(&ListedActor) -> &str| {
        listed.iter().map(|one| text(one).chars().count()).max().unwrap_or_default()
    };
    let (names, kinds) = (widest(|one| &one.name), widest(|one| &one.kind));
    let count = match listed.len() {
        0 => "No actors".to_owned(),
        1 => "1 actor".to_owned(),
        count => format!("{count} actors"),
    };
    let mut lines = vec![format!("{count} at {address}")];
    lines.extend(listed.iter().map(|one| {
        let ListedActor { name, kind, comment, .. } = one;
        let line = format!("  {name:names$}  {kind:kinds$}  {comment}");
        cut(&clean(line.trim_end()))
    }));
    lines
}

/// The line, or its start with a sign that there is more.
fn cut(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    let start: String = line.chars().take(COLUMNS - 1).collect();
    format!("{start}…")
}

/// The list as one document.
pub(crate) fn document(listed: &[ListedActor]) -> Value {
    let actors: Vec<Value> = listed
        .iter()
        .map(|ListedActor { name, kind, comment, .. }| {
            json!({"name": name, "type": kind, "comment": comment})
        })
        .collect();
    json!({"actors": actors})
}
