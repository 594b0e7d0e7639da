//! Arguments by name: `add a=2 b=3`, or `add '{"a": 2, "b": 3}'`.
//!
//! The words of a call are names if one of them has the name of a parameter; otherwise they are the
//! arguments in order, and a text such as `x=1` stays what it is. A name that is nearly that of a
//! parameter is taken for a slip. A text that looks like a name is written in the quotes of JSON.

use serde_json::{Map, Value};

use wigwag_describe::definitions::is_option;

/// Changed letters up to which a name is taken for a slip.
const SLIPS_MAX: usize = 2;

/// The arguments in the order of `parameters`. Options that are not named are null.
///
/// # Errors
///
/// Says which names are unknown, missing, given twice, or mixed with arguments in order.
pub(crate) fn in_order(
    parameters: &[(String, String)],
    words: Vec<String>,
) -> Result<Vec<String>, String> {
    if let Some(object) = object(parameters, &words)? {
        let given = object.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        return ordered(parameters, given);
    }
    let is_parameter = |name: &str| parameters.iter().any(|(known, _)| known == name);
    let pairs: Vec<Option<(&str, &str)>> = words.iter().map(|word| named(word)).collect();
    let known = pairs.iter().flatten().find(|(name, _)| is_parameter(name));
    match known {
        Some((name, _)) => {
            if let Some(at) = pairs.iter().position(Option::is_none) {
                return Err(format!(
                    "`{name}` is given by its name and {:?} is not: name all arguments, or none",
                    words[at]
                ));
            }
            let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
            ordered(parameters, pairs.iter().flatten().map(owned).collect())
        }
        None => {
            let slip = pairs.iter().flatten().find(|(name, _)| nearest(name, parameters).is_some());
            match slip {
                Some((name, _)) => Err(unknown(parameters, name)),
                None => Ok(words),
            }
        }
    }
}

/// The name that is nearly `wrong`, if there is one.
pub(crate) fn similar<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Of short names everything is near.
    let slips = SLIPS_MAX.min(wrong.chars().count() / 2);
    names
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(slipped, _)| *slipped <= slips)
        .min()
        .map(|(_, name)| name)
}

/// `name=value`, if the word begins like that.
fn named(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let is_name = name.starts_with(|c: char| is_letter(c) && !c.is_numeric());
    (is_name && name.chars().all(is_letter)).then_some((name, value))
}

/// The one word as an object of names, if one of its keys is a parameter, or if all its parameters
/// may be missing and it has no keys.
fn object(
    parameters: &[(String, String)],
    words: &[String],
) -> Result<Option<Map<String, Value>>, String> {
    let [word] = words else { return Ok(None) };
    let Ok(Value::Object(object)) = serde_json::from_str(word) else { return Ok(None) };
    let is_named = parameters.iter().any(|(name, _)| object.contains_key(name));
    let is_empty = object.is_empty() && parameters.iter().all(|(_, kind)| is_option(kind));
    // With one parameter the object may be its value; with none or several it cannot be.
    match (is_named || is_empty, parameters.len(), object.keys().next()) {
        (true, ..) => Ok(Some(object)),
        (false, 1, _) => Ok(None),
        (false, _, Some(key)) => Err(unknown(parameters, key)),
        (false, _, None) => Ok(Some(object)),
    }
}

fn ordered(
    parameters: &[(String, String)],
    given: Vec<(String, String)>,
) -> Result<Vec<String>, String> {
    let mut values = vec![None; parameters.len()];
    for (name, value) in given {
        let Some(at) = parameters.iter().position(|(known, _)| *known == name) else {
            return Err(unknown(parameters, &name));
        };
        if values[at].replace(value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    let is_missing = |((_, kind), value): &(&(String, String), &Option<String>)| {
        value.is_none() && !is_option(kind)
    };
    let missing: Vec<String> = parameters
        .iter()
        .zip(&values)
        .filter(is_missing)
        .map(|((name, kind), _)| format!("`{name}: {kind}`"))
        .collect();
    if !missing.is_empty() {
        return Err(format!("missing: {}", missing.join(", ")));
    }
    let last = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    values.truncate(last);
    Ok(values.into_iter().map(|value| value.unwrap_or_else(|| "null".into())).collect())
}

fn nearest<'p>(name: &str, parameters: &'p [(String, String)]) -> Option<&'p str> {
    similar(name, parameters.iter().map(|(known, _)| known.as_str()))
}

fn unknown(parameters: &[(String, String)], name: &str) -> String {
    if let Some(near) = nearest(name, parameters) {
        return format!("there is no argument `{name}`: did you mean `{near}`?");
    }
    let names: Vec<String> = parameters.iter().map(|(name, _)| format!("`{name}`")).collect();
    match names.is_empty() {
        true => format!("there is no argument `{name}`: the method takes none"),
        false => format!("there is no argument `{name}`, only {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: &[(&str, &str)] =
        &[("amount", "i64"), ("note", "Option<String>"), ("unit", "String")];

    fn order(parameters: &[(&str, &str)], words: &[&str]) -> Result<Vec<String>, String> {
        let parameters: Vec<_> =
            parameters.iter().map(|(name, kind)| ((*name).into(), (*kind).into())).collect();
        in_order(&parameters, words.iter().map(|word| (*word).into()).collect())
    }

    #[test]
    fn names_are_put_into_the_order_of_the_parameters() {
        for words in [
            &["unit=ct", "amount=2"][..],
            &["amount=2", "unit=ct", "note=null"],
            &["2", "null", "ct"],
        ] {
            assert_eq!(order(ADD, words).unwrap(), ["2", "null", "ct"], "{words:?}");
        }
        let object = r#"{"unit": "a=b", "amount": -2, "note": {"x": 1}}"#;
        assert_eq!(order(ADD, &[object]).unwrap(), ["-2", r#"{"x":1}"#, r#""a=b""#]);
        assert_eq!(order(ADD, &["amount=1", "unit=x=y"]).unwrap(), ["1", "null", "x=y"]);
        let options = [("a", "Option<u8>"), ("b", "Option<u8>"), ("c", "Option<u8>")];
        assert_eq!(order(&options, &["b=1"]).unwrap(), ["null", "1"]);
        assert_eq!(order(&options, &["{}"]).unwrap(), [""; 0]);
        assert_eq!(order(&[], &["{}"]).unwrap(), [""; 0]);
    }

    #[test]
    fn words_without_the_name_of_a_parameter_stay_as_they_are() {
        let text = [("text", "String")];
        for word in ["x=1", "key=value", "=", "text", "\"text=1\"", "{}", r#"{"key":1}"#, "1=2"] {
            assert_eq!(order(&text, &[word]).unwrap(), [word]);
        }
        assert_eq!(order(ADD, &["1", "2", "3", "4"]).unwrap().len(), 4, "counted later");
    }

    #[test]
    fn wrong_names_are_refused_with_the_right_ones() {
        for (words, what) in [
            (&["amuont=2", "unit=x"][..], "no argument `amuont`: did you mean `amount`?"),
            (&["amoun=2"], "did you mean `amount`?"),
            (
                &["amount=2", "colour=red", "unit=x"],
                "no argument `colour`, only `amount`, `note`, `unit`",
            ),
            (&["note=2"], "missing: `amount: i64`, `unit: String`"),
            (&["amount=2", "amount=3", "unit=x"], "`amount` is given twice"),
            (&["amount=2", "null", "x"], "`amount` is given by its name and \"null\" is not"),
            (&[r#"{"amount": 1, "units": "x"}"#], "did you mean `unit`?"),
            (&[r#"{"colour": 1}"#], "no argument `colour`, only"),
            (&["{}"], "missing: `amount: i64`, `unit: String`"),
        ] {
            let said = order(ADD, words).unwrap_err();
            assert!(said.contains(what), "{words:?}: {said}");
        }
        let said = order(&[], &[r#"{"a": 1}"#]).unwrap_err();
        assert_eq!(said, "there is no argument `a`: the method takes none");
    }
}
