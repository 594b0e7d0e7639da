//! The calls of one version of an interface, as an actor of another version understands them.
//!
//! Methods and arguments are matched by their names, present or former. Arguments that stand in
//! another order are put into the order of the actor. A call that cannot be matched is refused before
//! it is sent, with the names: two values of one type must never change places in silence.

use std::fmt::Write;
use std::sync::Arc;

use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{Argument, Message, Method, Schema};
use wigwag_wire::Reader;
use wigwag_wire::fields::Fields;
use wigwag_wire::msgpack::{put_array, take_array};
use wigwag_wire::skip::skip;

use crate::send::description::{ArgumentDescription, MethodDescription, Parts};
use crate::session::Session;
use crate::session::buffers::encoded::EncodedValue;

/// How an actor of another version understands one of our methods.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MethodMatch {
    /// Under this number, with the arguments in our order.
    Same(u32),
    /// Under this number, with the arguments in another order.
    Reordered(u32, Order),
    /// It has no method of that name.
    Missing,
    /// Arguments or parts of types have no counterpart; the text names them.
    Refused(String),
}

/// For each argument of the actor the place of ours, or `None` for an `Option` that we do not have.
pub(crate) type Order = Box<[Option<usize>]>;

/// Matches all methods of `ours`.
pub(crate) fn match_methods(ours: &Schema, theirs: &[MethodDescription]) -> Vec<MethodMatch> {
    ours.methods.iter().map(|method| match_method(method, theirs)).collect()
}

fn match_method(ours: &Method, theirs: &[MethodDescription]) -> MethodMatch {
    let is_same = |other: &&MethodDescription| other.name == ours.name;
    let was_same =
        |other: &&MethodDescription| is_named(ours.name, ours.former, &other.name, &other.former);
    let found = theirs.iter().find(is_same).or_else(|| theirs.iter().find(was_same));
    let Some(found) = found else { return MethodMatch::Missing };
    let at = theirs.iter().position(|other| std::ptr::eq(other, found)).unwrap_or_default();
    let number = FIRST_METHOD + at as u32;
    let order = match match_arguments(ours.arguments, &found.arguments) {
        Ok(order) => order,
        Err(name) => {
            let (here, there) = (signature_here(ours.arguments), signature(&found.arguments));
            return MethodMatch::Refused(format!(
                "`{}` takes ({there}) there and ({here}) here: `{name}` has no counterpart; a new \
                 name is declared with #[wigwag::was(\"old\")]",
                ours.name
            ));
        }
    };
    let pairs = found.arguments.iter().zip(&order).filter_map(|(theirs, place)| {
        Some((ours.arguments.get((*place)?)?.fields, theirs.parts.as_ref()))
    });
    let reply = (ours.reply_fields, found.reply_parts.as_ref());
    if let Some(why) = pairs.chain([reply]).find_map(|(ours, theirs)| mismatch(ours, theirs)) {
        return MethodMatch::Refused(format!("`{}`: {why}", ours.name));
    }
    let is_in_order = order.iter().enumerate().all(|(at, place)| *place == Some(at));
    if is_in_order { MethodMatch::Same(number) } else { MethodMatch::Reordered(number, order) }
}

/// True if one of the names, present or former, of one side is the present name of the other.
fn is_named(ours: &str, our_former: &[&str], theirs: &str, their_former: &[String]) -> bool {
    ours == theirs
        || our_former.contains(&theirs)
        || their_former.iter().any(|former| former == ours)
}

/// The order of the arguments, or the name of one without a counterpart. An `Option` may lack one:
/// the receiver reads `None`, and a sender's `Option` is left out.
fn match_arguments(ours: &[Argument], theirs: &[ArgumentDescription]) -> Result<Order, String> {
    let mut used = vec![false; ours.len()];
    let mut order = Vec::with_capacity(theirs.len());
    for wanted in theirs {
        let exact = ours.iter().position(|one| one.name == wanted.name);
        let place = exact.or_else(|| {
            ours.iter().position(|one| is_named(one.name, one.former, &wanted.name, &wanted.former))
        });
        match place.filter(|at| !std::mem::replace(&mut used[*at], true)) {
            Some(at) => order.push(Some(at)),
            None if is_option(&wanted.kind) => order.push(None),
            None => return Err(wanted.name.clone()),
        }
    }
    let left = ours.iter().zip(used).find(|(one, used)| !used && !is_option(one.kind));
    match left {
        Some((one, _)) => Err(one.name.to_owned()),
        None => Ok(order.into()),
    }
}

fn is_option(kind: &str) -> bool {
    let name = kind.split('<').next().unwrap_or_default();
    name.rsplit("::").next().is_some_and(|last| last.trim() == "Option")
}

fn signature_here(arguments: &[Argument]) -> String {
    listed(arguments.iter().map(|one| format!("{}: {}", one.name, one.kind)))
}

fn signature(arguments: &[ArgumentDescription]) -> String {
    listed(arguments.iter().map(|one| format!("{}: {}", one.name, one.kind)))
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// The difference between the parts of a type at both ends, in words. Additional parts at the end
/// are none, and nothing is known of a peer that names no parts.
fn mismatch(ours: &Fields, theirs: Option<&Parts>) -> Option<String> {
    let theirs = theirs.filter(|_| !ours.is_none())?;
    let pairs = ours.fields.iter().zip(&theirs.parts);
    for (here, there) in pairs {
        if !is_named(here.name, here.former, &there.name, &there.former) {
            let mut text = String::new();
            let names_here = listed(ours.fields.iter().map(|one| one.name.to_owned()));
            let names_there = listed(theirs.parts.iter().map(|one| one.name.clone()));
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "`{}` has the parts {names_there} there and {names_here} here: `{}` and `{}` stand \
                 in one place; a new name is declared with #[message(was = \"old\")]",
                if ours.name.is_empty() { &theirs.name } else { ours.name },
                there.name,
                here.name,
            );
            return Some(text);
        }
        if let Some(why) = mismatch(here.fields, there.parts.as_ref()) {
            return Some(why);
        }
    }
    None
}

/// Encodes the arguments of a call in the order of the actor.
pub(crate) fn reordered(
    session: &Arc<Session>,
    call: &impl Message,
    order: &Order,
) -> Result<EncodedValue, &'static str> {
    let ours = EncodedValue::new(session, |out| call.encode_arguments(out))?;
    Ok(ours.rewritten(|bytes, out| {
        let values = values(bytes);
        put_array(out, order.len());
        for place in order {
            match place.and_then(|at| values.get(at)) {
                Some(value) => out.extend(value),
                None => out.push(0xC0),
            }
        }
    }))
}

/// The elements of an array, each as its bytes.
fn values(array: &[u8]) -> Vec<&[u8]> {
    let mut reader = Reader::new(array);
    let count = take_array(&mut reader).unwrap_or(0);
    let mut values = Vec::with_capacity(count.min(array.len()));
    for _ in 0..count {
        let before = reader.rest();
        if skip(&mut reader).is_err() {
            break;
        }
        values.push(&before[..before.len() - reader.rest().len()]);
    }
    values
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;
    use crate::send::description::Part;
    use wigwag_wire::fields::Field;
    use wigwag_wire::fixed::FixedWidth;

    const fn argument(name: &'static str, kind: &'static str) -> Argument {
        let (former, fields, fixed) = (&[], Fields::NONE, FixedWidth::NONE);
        Argument { name, former, kind, fields, fixed }
    }

    fn described(arguments: &[(&str, &str)]) -> Vec<ArgumentDescription> {
        let one = |(name, kind): &(&str, &str)| ArgumentDescription {
            name: (*name).into(),
            former: Vec::new(),
            kind: (*kind).into(),
            parts: None,
        };
        arguments.iter().map(one).collect()
    }

    #[test]
    fn arguments_are_matched_by_name_and_options_may_be_missing() {
        const OURS: [Argument; 3] =
            [argument("a", "u64"), argument("b", "u64"), argument("note", "Option<String>")];
        let order = |theirs: &[(&str, &str)]| match_arguments(&OURS, &described(theirs));
        let some = |order: &[Option<usize>]| Ok(Order::from(order));
        assert_eq!(order(&[("a", "u64"), ("b", "u64")]), some(&[Some(0), Some(1)]));
        assert_eq!(order(&[("b", "u64"), ("a", "u32")]), some(&[Some(1), Some(0)]));
        let theirs = [("more", "std::option::Option<u8>"), ("a", "u64"), ("b", "u64")];
        assert_eq!(order(&theirs), some(&[None, Some(0), Some(1)]));
        assert_eq!(order(&[("a", "u64"), ("c", "u64")]), Err("c".into()));
        assert_eq!(order(&[("a", "u64")]), Err("b".into()), "a value would be lost");
        assert_eq!(order(&[("a", "u64"), ("b", "u64"), ("a", "u64")]), Err("a".into()));
    }

    #[test]
    fn a_former_name_of_either_side_counts() {
        const RENAMED: [Argument; 1] = [Argument { former: &["sum"], ..argument("amount", "u64") }];
        assert!(match_arguments(&RENAMED, &described(&[("sum", "u64")])).is_ok());
        assert!(match_arguments(&RENAMED, &described(&[("total", "u64")])).is_err());
        let mut theirs = described(&[("value", "u64")]);
        theirs[0].former = vec!["amount".into()];
        assert!(match_arguments(&RENAMED, &theirs).is_ok());
    }

    #[test]
    fn parts_that_have_changed_places_are_named() {
        const fn field(name: &'static str) -> Field {
            Field { kind: "u64", ..Field::unnamed(name, Fields::NONE) }
        }
        const POINT: &Fields =
            &Fields { name: "Point", fields: &[field("x"), field("y")], comment: "" };
        let theirs = |names: &[&str]| Parts {
            name: "Point".into(),
            parts: names
                .iter()
                .map(|name| Part { name: (*name).into(), former: Vec::new(), parts: None })
                .collect(),
        };
        assert_eq!(mismatch(POINT, None), None, "the peer names no parts");
        assert_eq!(mismatch(Fields::NONE, Some(&theirs(&["y"]))), None);
        for names in [&["x", "y"][..], &["x"], &["x", "y", "z"]] {
            assert_eq!(mismatch(POINT, Some(&theirs(names))), None, "{names:?}");
        }
        let why = mismatch(POINT, Some(&theirs(&["y", "x"]))).expect("they are swapped");
        assert!(why.contains("`Point` has the parts y, x there and x, y here"), "{why}");
    }
}
