//! `wigwag describe --ts`: the interface of an actor for the TypeScript client.
//!
//! The forms are those that the client reads and writes (`typescript/src/values/convert.ts`): structs
//! are objects, enums are unions. Names and comments come from the peer, so a name that is no
//! identifier is quoted, and no comment ends early.

use wigwag::dynamic::{Described, DescribedPart, DescribedType};
use wigwag_describe::definitions::is_option;
use wigwag_describe::forms::may_be_nil;
use wigwag_describe::kind::Kind;

use super::typescript_schema;
use crate::print::clean;

/// Where a type stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is an argument or within one.
    Argument,
    /// It is a reply, or within one or a type.
    Reply,
}

/// The declarations for a described actor.
pub(crate) fn document(described: &Described) -> String {
    let types = Types { described };
    let mut body = String::new();
    let mut names: Vec<&str> = described.types.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        body.push_str(&types.declaration(name));
    }
    body.push_str(&types.interface(&names));
    let used = |name: &&str| {
        body.contains(&format!(": {name}"))
            || body.contains(&format!("{name}<"))
            || body.contains(&format!("{name} |"))
            || body.contains(&format!("{name}[]"))
    };
    let imports: Vec<&str> =
        ["Items", "Reference", "Schema", "Stream"].into_iter().filter(used).collect();
    let import = format!("import type {{ {} }} from \"wigwag\";\n\n", imports.join(", "));
    let head = "// Written by `wigwag describe --ts`; schema";
    format!("{head} {:016x}.\n{import}{body}", described.hash)
}

struct Types<'d> {
    described: &'d Described,
}

impl Types<'_> {
    /// The interface, and the names of its arguments as a value.
    fn interface(&self, taken: &[&str]) -> String {
        let plain = identifier(&self.described.name).unwrap_or("Interface");
        let name = if taken.contains(&plain) { format!("{plain}Actor") } else { plain.to_owned() };
        let mut out = comment(&self.described.comment, "");
        out.push_str(&format!("export interface {name} {{\n"));
        for (method, arguments, reply) in &self.described.methods {
            out.push_str(&comment(self.described.comment_of(method), "  "));
            let arguments = self.arguments(arguments);
            let reply = self.reply(method, reply);
            out.push_str(&format!("  {}({arguments}): {reply};\n", property(method)));
        }
        out.push_str("}\n\n");
        let about = format!("The names of the arguments, for `reference(object, {name})`.");
        out.push_str(&comment(&about, ""));
        out.push_str(&format!("export const {name} = {{\n"));
        for (method, arguments, _) in &self.described.methods {
            let names: Vec<String> = arguments.iter().map(|(name, _)| quoted(name)).collect();
            out.push_str(&format!("  {}: [{}],\n", property(method), names.join(", ")));
        }
        out.push_str("} as const;\n\n");
        let about =
            format!("What to know of the actor in advance, for `pipe(actor, {name}Schema)`.");
        out.push_str(&comment(&about, ""));
        let schema = typescript_schema::value(self.described);
        out.push_str(&format!("export const {name}Schema: Schema<{name}> = {schema};\n"));
        out
    }

    /// The parameters of a method. Options at the end may be left out.
    fn arguments(&self, arguments: &[(String, String)]) -> String {
        let needed =
            arguments.iter().rposition(|(_, kind)| !is_option(kind)).map_or(0, |at| at + 1);
        let parameters = arguments.iter().enumerate().map(|(at, (name, kind))| {
            let name = match identifier(name) {
                Some(name) if RESERVED.contains(&name) => format!("{name}_"),
                Some(name) => name.to_owned(),
                None => format!("argument{at}"),
            };
            let mark = if at < needed { "" } else { "?" };
            format!("{name}{mark}: {}", self.spelled(kind, Place::Argument))
        });
        parameters.collect::<Vec<_>>().join(", ")
    }

    fn reply(&self, method: &str, reply: &str) -> String {
        let item = reply.strip_prefix("Stream<").and_then(|rest| rest.strip_suffix('>'));
        match item.filter(|_| self.described.is_stream(method)) {
            Some(item) => format!("Stream<{}>", self.spelled(item, Place::Reply)),
            None if reply.replace(' ', "") == "()" => "void".to_owned(),
            None => self.spelled(reply, Place::Reply),
        }
    }

    /// The declaration of a struct or an enum; of all that have the name, one of which is meant.
    fn declaration(&self, name: &str) -> String {
        let all: Vec<&DescribedType> =
            self.described.types.iter().filter(|one| one.name == name).collect();
        let forms: Vec<String> = all.iter().map(|one| self.form(one)).collect();
        let about = all.first().map_or("", |one| one.comment.as_str());
        let name = identifier(name).unwrap_or("Unnamed");
        let forms = forms.join(" | ");
        let gap = if forms.starts_with(char::is_whitespace) { "" } else { " " };
        format!("{}export type {name} ={gap}{forms};\n\n", comment(about, ""))
    }

    fn form(&self, of: &DescribedType) -> String {
        if !of.is_enum() {
            return self.fields(&of.parts, "  ");
        }
        let variants = of.parts.iter().map(|variant| {
            let about = comment(&variant.comment, "  ");
            let form = match variant.fields.as_slice() {
                [] => quoted(&variant.name),
                [only] if only.name == "0" => {
                    format!("{{ {}: {} }}", property(&variant.name), self.field(only))
                }
                fields => {
                    format!("{{ {}: {} }}", property(&variant.name), self.fields(fields, "    "))
                }
            };
            format!("\n{about}  | {form}")
        });
        variants.collect()
    }

    /// An object of the fields, or an array of those of a tuple.
    fn fields(&self, fields: &[DescribedPart], indent: &str) -> String {
        match fields.first() {
            None => "Record<string, never>".to_owned(),
            Some(first) if first.name == "0" => {
                let kinds: Vec<String> = fields.iter().map(|field| self.field(field)).collect();
                format!("[{}]", kinds.join(", "))
            }
            Some(_) => {
                let fields = fields.iter().map(|field| {
                    let is_option = field.kind.as_deref().is_some_and(is_option);
                    let (name, mark) = (property(&field.name), if is_option { "?" } else { "" });
                    let about = comment(&field.comment, indent);
                    format!("{about}{indent}{name}{mark}: {};\n", self.field(field))
                });
                let end = indent.get(2..).unwrap_or_default();
                format!("{{\n{}{end}}}", fields.collect::<String>())
            }
        }
    }

    fn field(&self, field: &DescribedPart) -> String {
        match &field.kind {
            Some(kind) if !field.has_own_codec => self.spelled(kind, Place::Reply),
            _ => "unknown".to_owned(),
        }
    }

    fn spelled(&self, spelled: &str, place: Place) -> String {
        Kind::read(spelled).map_or("unknown".to_owned(), |kind| self.kind(&kind, place))
    }

    fn kind(&self, kind: &Kind<'_>, place: Place) -> String {
        match kind {
            Kind::Tuple(kinds) if kinds.is_empty() => "undefined".to_owned(),
            Kind::Tuple(kinds) => self.tuple(kinds, place),
            Kind::Array(item, _) => self.list(item, place),
            Kind::Named(name, arguments) => self.named(name, arguments, place),
        }
    }

    fn tuple(&self, kinds: &[Kind<'_>], place: Place) -> String {
        let kinds: Vec<String> = kinds.iter().map(|kind| self.kind(kind, place)).collect();
        format!("[{}]", kinds.join(", "))
    }

    fn list(&self, item: &Kind<'_>, place: Place) -> String {
        if *item == Kind::Named("u8", Vec::new()) {
            return "Uint8Array".to_owned();
        }
        let item = self.kind(item, place);
        if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
    }

    fn named(&self, name: &str, arguments: &[Kind<'_>], place: Place) -> String {
        if self.described.types.iter().any(|one| one.name == name) {
            return identifier(name).unwrap_or("Unnamed").to_owned();
        }
        let inner = |at: usize| self.kind(&arguments[at], place);
        match (name, arguments) {
            ("Option", [one]) if may_be_nil(one) => format!("[{}] | null", inner(0)),
            ("Option", [_]) => format!("{} | null", inner(0)),
            ("Box" | "Arc" | "Cow" | "Wrapping" | "NonZero", [_]) => inner(0),
            ("Vec" | "VecDeque" | "BTreeSet" | "HashSet", [item, ..]) => self.list(item, place),
            ("BTreeMap" | "HashMap", [Kind::Named("String" | "str" | "char", _), _, ..]) => {
                format!("Record<string, {}>", inner(1))
            }
            ("BTreeMap" | "HashMap", [_, _, ..]) => format!("Map<{}, {}>", inner(0), inner(1)),
            ("Result", [_, _]) => format!("{{ ok: {} }} | {{ err: {} }}", inner(0), inner(1)),
            ("Items", [_]) if place == Place::Argument => format!("Items<{}>", inner(0)),
            ("Items", [_]) => format!("Stream<{}>", inner(0)),
            ("Range", [_]) => format!("[{}, {}]", inner(0), inner(0)),
            ("PhantomData", _) => "null".to_owned(),
            ("DateTime", _) => MOMENT.to_owned(),
            (_, []) => plain(name, place).to_owned(),
            _ => "unknown".to_owned(),
        }
    }
}

/// Seconds and nanoseconds, and the offset of the local time.
const MOMENT: &str = "[number | bigint, number] | [number | bigint, number, number]";

/// A type without arguments.
fn plain(name: &str, place: Place) -> &'static str {
    match name.strip_prefix("NonZero").map(str::to_ascii_lowercase).as_deref().unwrap_or(name) {
        "u8" | "u16" | "u32" | "i8" | "i16" | "i32" | "f32" | "f64" => "number",
        "u64" | "i64" | "usize" | "isize" => "number | bigint",
        "u128" | "i128" => "number | bigint | Uint8Array",
        "bool" => "boolean",
        "char" | "String" | "str" | "IpAddr" | "Ipv4Addr" | "Ipv6Addr" | "SocketAddrV4" => "string",
        "SocketAddr" | "SocketAddrV6" => "string | [string, number]",
        "Bytes" => "Uint8Array",
        "PathBuf" => "string | Uint8Array",
        "Uuid" if place == Place::Argument => "string | Uint8Array",
        "Uuid" => "Uint8Array",
        "Decimal" => "string | number",
        "Ordering" => "-1 | 0 | 1",
        "Duration" | "SystemTime" | "NaiveDateTime" | "PrimitiveDateTime" => {
            "[number | bigint, number]"
        }
        "OffsetDateTime" => MOMENT,
        "NaiveDate" | "Date" => "[number, number, number]",
        "NaiveTime" | "Time" => "[number, number]",
        // A reference is named after its actor, and no description has it.
        _ if name.len() > 3 && name.ends_with("Ref") => "Reference",
        _ => "unknown",
    }
}

/// Words that no parameter may have as its name.
const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "case",
    "catch",
    "class",
    "const",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "for",
    "break",
    "continue",
];

/// The name, if it is an identifier.
fn identifier(name: &str) -> Option<&str> {
    let mut letters = name.chars();
    let is_first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    (is_first && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some(name)
}

fn property(name: &str) -> String {
    identifier(name).map_or_else(|| quoted(name), str::to_owned)
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(clean(name)).to_string()
}

/// A doc comment; nothing for an empty text.
fn comment(text: &str, indent: &str) -> String {
    let text = clean(text).replace("*/", "*\\/");
    match text.lines().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let lines = lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned());
            format!("{indent}/**\n{}\n{indent} */\n", lines.collect::<Vec<_>>().join("\n"))
        }
    }
}
