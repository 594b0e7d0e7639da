//! Writes a value in its named form as a text of JSON, while it is read.

use std::fmt;
use std::io::Write;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::form::{Fields, Layout, Layouts, Shape};

/// Writes one value.
pub(super) struct Writer<'w> {
    pub(super) shape: &'w Shape,
    pub(super) layouts: &'w Layouts,
    pub(super) out: &'w mut Vec<u8>,
}

impl Writer<'_> {
    fn with<'s>(&'s mut self, shape: &'s Shape) -> Writer<'s> {
        Writer { shape, layouts: self.layouts, out: self.out }
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn json<E: Error>(&mut self, value: &(impl serde::Serialize + ?Sized)) -> Result<(), E> {
        serde_json::to_writer(&mut *self.out, value).map_err(E::custom)
    }

    /// Writes the next items as an array, as many as there are shapes.
    fn items<'s, 'de, A: SeqAccess<'de>>(
        &mut self,
        items: &mut A,
        mut shapes: impl FnMut(usize) -> Option<&'s Shape>,
    ) -> Result<(), A::Error> {
        self.push("[");
        for at in 0.. {
            let Some(shape) = shapes(at) else { break };
            let begin = self.out.len();
            if at > 0 {
                self.push(",");
            }
            if items.next_element_seed(self.with(shape))?.is_none() {
                self.out.truncate(begin);
                break;
            }
        }
        self.push("]");
        Ok(())
    }

    fn fields<'de, A: SeqAccess<'de>>(
        &mut self,
        fields: &Fields,
        items: &mut A,
    ) -> Result<(), A::Error> {
        match fields {
            Fields::One(shape) => {
                if items.next_element_seed(self.with(shape))?.is_none() {
                    self.push("null");
                }
            }
            Fields::Tuple(shapes) => self.items(items, |at| shapes.get(at))?,
            Fields::Named(named) => {
                self.push("{");
                for (at, (name, shape)) in named.iter().enumerate() {
                    let begin = self.out.len();
                    self.push(if at > 0 { "," } else { "" });
                    self.push(name);
                    self.push(":");
                    if items.next_element_seed(self.with(shape))?.is_none() {
                        self.out.truncate(begin);
                        break;
                    }
                }
                self.push("}");
            }
        }
        skip(items)
    }

    /// Writes an array of a number and of what it says of the rest.
    fn numbered<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<(), A::Error> {
        let mismatch = || A::Error::custom("the value does not have the form of its type");
        let number: u32 = items.next_element()?.ok_or_else(mismatch)?;
        match self.shape {
            Shape::Result(cases) => {
                let case = cases.get(number as usize).ok_or_else(mismatch)?;
                self.push(if number == 0 { "{\"Ok\":" } else { "{\"Err\":" });
                items.next_element_seed(self.with(case))?.ok_or_else(mismatch)?;
                self.push("}");
            }
            &Shape::Type(at) => {
                let Some(Layout::Enum(variants)) = self.layouts.get(at) else {
                    return Err(mismatch());
                };
                let mut known = variants.iter();
                let variant = known.find(|one| one.number == Some(number)).ok_or_else(mismatch)?;
                match &variant.fields {
                    None => self.push(&variant.name),
                    Some(fields) => {
                        self.push("{");
                        self.push(&variant.name);
                        self.push(":");
                        self.fields(fields, items)?;
                        self.push("}");
                    }
                }
            }
            _ => return Err(mismatch()),
        }
        skip(items)
    }
}

/// Passes over items for which a description has no name.
fn skip<'de, A: SeqAccess<'de>>(items: &mut A) -> Result<(), A::Error> {
    while items.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

impl<'de> DeserializeSeed<'de> for Writer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Writer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can represent")
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.push("null");
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.push(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<(), E> {
        self.json(&value)
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<(), E> {
        self.json(&value)
    }

    fn visit_f32<E: Error>(mut self, value: f32) -> Result<(), E> {
        match value.is_finite() {
            // The digits of the nearest `f64` would be twice as many.
            true => self.json(&value),
            false => self.visit_f64(value.into()),
        }
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<(), E> {
        match value.is_finite() {
            true => self.json(&value),
            // JSON has no NaN and no infinity.
            false => write!(self.out, "\"{value}\"").map_err(E::custom),
        }
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<(), E> {
        self.json(value)
    }

    fn visit_bytes<E: Error>(mut self, value: &[u8]) -> Result<(), E> {
        self.json(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        match self.shape {
            Shape::Same | Shape::Map(_) => self.items(&mut items, |_| Some(&Shape::Same)),
            Shape::List(item) => self.items(&mut items, |_| Some(item)),
            Shape::Tuple(shapes) => {
                self.items(&mut items, |at| Some(shapes.get(at).unwrap_or(&Shape::Same)))
            }
            &Shape::Type(at) => match self.layouts.get(at) {
                Some(Layout::Struct(fields)) => self.fields(fields, &mut items),
                _ => self.numbered(&mut items),
            },
            Shape::Result(_) => self.numbered(&mut items),
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut pairs: A) -> Result<(), A::Error> {
        let shape = match self.shape {
            Shape::Map(value) => value,
            _ => &Shape::Same,
        };
        self.push("{");
        let mut key = Vec::new();
        let mut is_first = true;
        loop {
            key.clear();
            let seed = Writer { shape: &Shape::Same, layouts: self.layouts, out: &mut key };
            if pairs.next_key_seed(seed)?.is_none() {
                break;
            }
            self.push(if is_first { "" } else { "," });
            is_first = false;
            match key.first() {
                Some(b'"') => self.out.extend_from_slice(&key),
                // JSON has no other keys, so they become texts.
                _ => self.json(&*String::from_utf8_lossy(&key))?,
            }
            self.push(":");
            pairs.next_value_seed(self.with(shape))?;
        }
        self.push("}");
        Ok(())
    }
}
