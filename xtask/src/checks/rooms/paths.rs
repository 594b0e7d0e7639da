//! The paths that the code of one file names within its own crate.
//!
//! A scanner, not a parser: comments, strings and test code are blanked out, then each path that
//! begins with `crate` or `super` is read, in a `use` line or in the middle of an expression. Paths
//! that macros put together are not seen.

/// A path as written, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// From 1 on.
    pub(super) line: usize,
    /// Modules from the root of the crate on, and the item; `super` is resolved.
    pub(super) segments: Vec<String>,
}

/// One name that a `use` tree brings in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) segments: Vec<String>,
    pub(super) name: String,
}

/// The code without comments, the contents of strings and characters; every byte keeps its line.
pub(super) fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if !is_word(before(bytes, at)) || before(bytes, at) == b'b' => {
                raw_string_end(bytes, at).unwrap_or(at + 1)
            }
            b'\'' => character_end(bytes, at).unwrap_or(at + 1),
            _ => at + 1,
        };
        if end > at + 1 {
            let blanks = code[at..end].iter_mut().filter(|byte| **byte != b'\n');
            blanks.for_each(|byte| *byte = b' ');
        }
        at = end;
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b' ', |at| bytes[at])
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at.min(bytes.len())
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// `at` is at the `r`; `None` when no raw string begins there.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let body = at + 1 + hashes;
    if bytes.get(body) != Some(&b'"') {
        return None;
    }
    let close = [&b"\""[..], &vec![b'#'; hashes]].concat();
    let found = bytes[body + 1..].windows(close.len()).position(|window| window == close);
    Some(found.map_or(bytes.len(), |length| body + 1 + length + close.len()))
}

/// `None` for a lifetime or a label.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at + 1..];
    if rest.first() == Some(&b'\\') {
        return rest[2..].iter().position(|byte| *byte == b'\'').map(|length| at + 4 + length);
    }
    // A character has up to four bytes, and a lifetime no quote behind its first.
    let first = std::str::from_utf8(rest.get(..4.min(rest.len()))?)
        .or_else(|error| std::str::from_utf8(&rest[..error.valid_up_to()]))
        .ok()?
        .chars()
        .next()?;
    (rest.get(first.len_utf8()) == Some(&b'\'')).then(|| at + 2 + first.len_utf8())
}

/// Blanks the items under `#[cfg(test)]` and `#[cfg(all(test, ...))]`; gives what is left and the
/// names of the modules in other files that are tests.
pub(super) fn without_tests(code: &str) -> (String, Vec<String>) {
    let mut left = code.as_bytes().to_vec();
    let mut modules = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(") {
        let begin = from + found;
        let condition = &code[begin + "#[cfg(".len()..];
        from = begin + 1;
        if !condition.starts_with("test)") && !condition.starts_with("all(test,") {
            continue;
        }
        let mut item = group_end(code, begin + 1);
        while code[item..].trim_start().starts_with("#[") {
            item = group_end(code, item + code[item..].find("#[").unwrap_or_default() + 1);
        }
        let end = item_end(code, item);
        modules.extend(module_of_file(&code[item..end]));
        left[begin..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        from = end;
    }
    (String::from_utf8_lossy(&left).into_owned(), modules)
}

/// Behind the bracket that closes the one at `at`.
fn group_end(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (length, byte) in code.bytes().skip(at).enumerate() {
        match byte {
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + length + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Behind the item that begins at `at`: its semicolon or its block.
fn item_end(code: &str, at: usize) -> usize {
    let bytes = code.as_bytes();
    let mut at = at;
    while at < bytes.len() {
        match bytes[at] {
            b';' | b',' => return at + 1,
            b'{' => return group_end(code, at),
            b'(' | b'[' => at = group_end(code, at),
            _ => at += 1,
        }
    }
    at
}

/// The name in `mod name;`, with a visibility or not.
fn module_of_file(item: &str) -> Option<String> {
    let mut words = item.trim().trim_end_matches(';').split_whitespace().rev();
    let name = words.next()?;
    (words.next() == Some("mod") && item.trim_end().ends_with(';')).then(|| name.to_owned())
}

/// The paths in `code` that begin with `crate` or `super`; the file is the module `module`.
pub(super) fn within_crate(code: &str, module: &[String]) -> Vec<Path> {
    let bytes = code.as_bytes();
    let (mut paths, mut depth) = (Vec::new(), 0_usize);
    // Modules that are open here, with the depth of their braces.
    let mut inner: Vec<(String, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            match bytes[at] {
                b'{' => depth += 1,
                b'}' => {
                    depth = depth.saturating_sub(1);
                    inner.retain(|(_, opened)| *opened < depth + 1);
                }
                _ => {}
            }
            at += 1;
            continue;
        }
        let word = word_at(code, at);
        let behind = at + word.len();
        match word {
            "mod" => {
                let name = word_at(code, behind + spaces(code, behind));
                let end = behind + spaces(code, behind) + name.len();
                if code[end..].trim_start().starts_with('{') {
                    inner.push((name.to_owned(), depth + 1));
                }
                at = end;
            }
            "crate" | "super" if code[behind..].starts_with("::") => {
                let line = 1 + code[..at].matches('\n').count();
                let open = inner.iter().map(|(name, _)| name.clone());
                let here: Vec<String> = module.iter().cloned().chain(open).collect();
                let mut leaves = Vec::new();
                at = tree(code, at, &[], &mut leaves);
                let leaves = leaves.into_iter().map(|leaf| resolved(leaf.segments, &here));
                paths.extend(leaves.map(|segments| Path { line, segments }));
            }
            _ => at = behind,
        }
    }
    paths
}

/// Every name that the `use` lines of `code` bring in.
pub(super) fn imported(code: &str) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let mut at = 0;
    while let Some(found) = code[at..].find("use ") {
        let begin = at + found;
        at = begin + "use ".len();
        if !is_word(before(code.as_bytes(), begin)) {
            at = tree(code, at, &[], &mut leaves);
        }
    }
    leaves
}

fn word_at(code: &str, at: usize) -> &str {
    let length = code.bytes().skip(at).take_while(|byte| is_word(*byte)).count();
    &code[at..at + length]
}

fn spaces(code: &str, at: usize) -> usize {
    code.bytes().skip(at).take_while(u8::is_ascii_whitespace).count()
}

/// Reads a `use` tree or a plain path at `at`; gives where it ends.
fn tree(code: &str, at: usize, above: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let mut at = at + spaces(code, at);
    let mut segments = above.to_vec();
    loop {
        let rest = &code[at..];
        if rest.starts_with('{') {
            at += 1;
            while at < code.len() && !code[at..].starts_with('}') {
                let end = tree(code, at, &segments, leaves);
                let end = end + spaces(code, end);
                at = if code[end..].starts_with(',') { end + 1 } else { end.max(at + 1) };
                at += spaces(code, at);
            }
            return (at + 1).min(code.len());
        }
        let word = if rest.starts_with('*') { "*" } else { word_at(code, at) };
        if word.is_empty() {
            break;
        }
        segments.push(word.to_owned());
        at += word.len();
        if !code[at..].starts_with("::") {
            break;
        }
        at += "::".len();
    }
    let mut name = segments.last().cloned().unwrap_or_default();
    if code[at..].starts_with(" as ") {
        let alias = word_at(code, at + " as ".len());
        at += " as ".len() + alias.len();
        alias.clone_into(&mut name);
    }
    leaves.push(Leaf { segments, name });
    at
}

/// The path from the root of the crate on, as written in the module `here`.
fn resolved(segments: Vec<String>, here: &[String]) -> Vec<String> {
    let ups = segments.iter().take_while(|segment| *segment == "super").count();
    let base = if ups == 0 { &[] } else { &here[..here.len().saturating_sub(ups)] };
    let rest = segments.into_iter().skip(ups.max(1)).filter(|segment| segment != "self");
    base.iter().cloned().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<String> = module.iter().map(|&name| name.to_owned()).collect();
        let (code, _) = without_tests(&without_comments(code));
        let found = within_crate(&code, &module);
        found.iter().map(|path| format!("{} {}", path.line, path.segments.join("::"))).collect()
    }

    #[test]
    fn use_lines_and_paths_in_code_are_read() {
        let code = "use crate::a::{self, b::{C, D as E}};\nfn f() -> crate::g::H { crate::i() }\n";
        assert_eq!(paths(code, &["x"]), ["1 a", "1 a::b::C", "1 a::b::D", "2 g::H", "2 i"]);
    }

    #[test]
    fn super_is_resolved_in_files_and_in_modules_within_them() {
        let code =
            "use super::a;\nmod inner { use super::b; use super::super::c; }\nuse super::d::*;";
        assert_eq!(paths(code, &["x", "y"]), ["1 x::a", "2 x::y::b", "2 x::c", "3 x::d::*"]);
    }

    #[test]
    fn comments_strings_and_characters_are_no_code() {
        let code = "/// See crate::a.\n/* crate::b /* crate::c */ crate::d */\n\
            const T: &str = \"crate::e \\\" crate::f\"; const R: &str = r#\"crate::g\"#;\n\
            fn f<'a>(x: &'a str) { if x == '\"' || x == '\\'' { crate::h() } }";
        assert_eq!(paths(code, &["x"]), ["4 h"]);
    }

    #[test]
    fn test_code_is_left_out_and_test_modules_in_other_files_are_named() {
        let code = "#[cfg(test)]\nmod tests { use crate::a; }\n\
            #[cfg(all(test, loom))]\n#[path = \"x.rs\"]\nmod models;\n\
            #[cfg(feature = \"testing\")]\nuse crate::b;\n";
        assert_eq!(paths(code, &["x"]), ["7 b"]);
        assert_eq!(without_tests(&without_comments(code)).1, ["models"]);
    }

    #[test]
    fn imports_of_the_root_are_named_as_they_are_used() {
        let leaves = imported("pub use a::{B, c::D as E};\nuse self::f::G;");
        let names: Vec<_> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        assert_eq!(names, ["B", "E", "G"]);
    }
}
