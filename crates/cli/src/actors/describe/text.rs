//! The output of `wigwag describe` for people: one interface on lines of 80 columns.
//!
//! The texts come from the peer, so control characters, which a terminal may obey, are replaced.

use wigwag::dynamic::{Described, DescribedPart, DescribedType};

use wigwag_describe::kind::Kind;
use wigwag_describe::signature;

use crate::print::clean;

/// Columns of a line.
pub(crate) const COLUMNS: usize = 80;

/// Columns before what belongs to an entry.
const INDENT: usize = 6;

/// The lines that describe the actor at `address`.
pub(crate) fn lines(described: &Described, address: &str, example: Option<&str>) -> Vec<String> {
    let mut lines = vec![clean(&format!("{} at {address}", described.name))];
    comment(&described.comment, "", 0, &mut lines);
    for (name, arguments, reply) in &described.methods {
        if !described.comment.is_empty() && lines.len() > 1 && name == &described.methods[0].0 {
            lines.push(String::new());
        }
        entry(&format!("{} -> {reply}", signature(name, arguments)), &mut lines);
        comment(described.comment_of(name), "", INDENT, &mut lines);
        if described.is_stream(name) {
            comment(STREAM, "", INDENT, &mut lines);
        }
        for (argument, _) in arguments.iter().filter(|(_, kind)| Kind::has_items(kind)) {
            comment(&format!("`{argument}` {ITEMS}"), "", INDENT, &mut lines);
        }
    }
    for one in &described.types {
        entry(&definition(one), &mut lines);
        comment(&one.comment, "", INDENT, &mut lines);
        for part in &one.parts {
            comment(&part.comment, &part.name, INDENT, &mut lines);
            for field in &part.fields {
                let name = format!("{}.{}", part.name, field.name);
                comment(&field.comment, &name, INDENT, &mut lines);
            }
        }
    }
    if let Some(example) = example {
        lines.extend([String::new(), "Example:".to_owned()]);
        lines.extend(clean(example).lines().map(|line| format!("  {line}")));
    }
    lines
}

const STREAM: &str = "A stream: only a program can take it.";
const ITEMS: &str = "is a stream: only a program can send it.";

/// The text on as many lines as it takes. A word that is longer than a line has one for itself.
pub(crate) fn wrapped(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(first)];
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        let columns = line.chars().count() + usize::from(!is_empty) + word.chars().count();
        if !is_empty && columns > COLUMNS {
            lines.push(format!("{}{word}", " ".repeat(rest)));
            continue;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines
}

fn entry(text: &str, lines: &mut Vec<String>) {
    lines.extend(wrapped(&clean(text), 2, INDENT));
}

/// Appends a comment, behind the name of what it is about: paragraphs are filled, other lines stay as
/// they are.
fn comment(text: &str, about: &str, indent: usize, lines: &mut Vec<String>) {
    if text.is_empty() {
        return;
    }
    let text = match about {
        "" => clean(text),
        name => clean(&format!("{name}: {text}")),
    };
    let blank = " ".repeat(indent);
    let mut is_code = false;
    for paragraph in text.split("\n\n") {
        if paragraph.as_ptr() != text.as_ptr() {
            lines.push(String::new());
        }
        let is_filled = |line: &str| {
            !line.starts_with([' ', '-', '*', '#', '|', '`', '>'])
                && !line.starts_with(|c: char| c.is_ascii_digit())
        };
        let was_code = is_code;
        is_code ^= paragraph.lines().filter(|line| line.starts_with("```")).count() % 2 == 1;
        if !was_code && paragraph.lines().all(is_filled) {
            lines.extend(wrapped(paragraph, indent, indent));
        } else {
            lines.extend(paragraph.lines().map(|line| format!("{blank}{line}").trim_end().into()));
        }
    }
}

/// A struct or an enum as Rust writes it.
fn definition(of: &DescribedType) -> String {
    if !of.is_enum() {
        return format!("struct {}{}", of.name, fields(&of.parts));
    }
    let variants: Vec<String> =
        of.parts.iter().map(|part| format!("{}{}", part.name, fields(&part.fields))).collect();
    format!("enum {} {{ {} }}", of.name, variants.join(", "))
}

/// ` { name: type }`, or `(type)` for the fields of a tuple; nothing if there are none.
fn fields(fields: &[DescribedPart]) -> String {
    let Some(first) = fields.first() else { return String::new() };
    let kind = |field: &DescribedPart| field.kind.clone().unwrap_or_default();
    if first.name == "0" {
        let kinds: Vec<String> = fields.iter().map(kind).collect();
        return format!("({})", kinds.join(", "));
    }
    let fields: Vec<String> =
        fields.iter().map(|field| format!("{}: {}", field.name, kind(field))).collect();
    format!(" {{ {} }}", fields.join(", "))
}
