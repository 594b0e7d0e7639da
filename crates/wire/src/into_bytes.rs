//! The types that a socket or an output takes as the bytes of a message.
//!
//! [`Bytes`] alone is what it sends. `Into<Bytes>` would be the obvious bound, but it takes slices
//! and texts of the program itself only, not those of a buffer, and no arrays. [`IntoBytes`] takes
//! both: a value that owns its bytes gives them without a copy, of a borrowed one they are copied
//! once.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

/// A value that is the bytes of a message: text, a slice or an array of any lifetime, or a type
/// that owns its bytes.
///
/// | type | costs |
/// |---|---|
/// | [`Bytes`], `&Bytes` | nothing: the bytes are shared |
/// | `Vec<u8>`, `String`, `Box<[u8]>`, `Box<str>`, [`BytesMut`], an owned `Cow` | nothing, or less than a copy: the memory is taken over |
/// | `&[u8]`, `&str`, `[u8; N]`, `&[u8; N]`, `&Vec<u8>`, `&String`, a borrowed `Cow` | one allocation and one copy |
///
/// A text or slice that is part of the program is not copied as [`Bytes::from_static`]. A program
/// may implement the trait for types of its own.
pub trait IntoBytes {
    /// The bytes of this value.
    fn into_bytes(self) -> Bytes;
}

macro_rules! taken_over {
    ($($owned:ty),*) => {
        $(impl IntoBytes for $owned {
            fn into_bytes(self) -> Bytes {
                self.into()
            }
        })*
    };
}

taken_over!(Bytes, BytesMut, Vec<u8>, Box<[u8]>, String);

impl IntoBytes for Box<str> {
    fn into_bytes(self) -> Bytes {
        self.into_boxed_bytes().into()
    }
}

impl IntoBytes for &Bytes {
    fn into_bytes(self) -> Bytes {
        self.clone()
    }
}

macro_rules! copied {
    ($($borrowed:ty),*) => {
        $(impl IntoBytes for $borrowed {
            fn into_bytes(self) -> Bytes {
                Bytes::copy_from_slice(self.as_ref())
            }
        })*
    };
}

copied!(&[u8], &str, &Vec<u8>, &String);

impl<const N: usize> IntoBytes for [u8; N] {
    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(&self)
    }
}

impl<const N: usize> IntoBytes for &[u8; N] {
    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(self)
    }
}

/// Takes over an owned value, and copies a borrowed one.
impl<T> IntoBytes for Cow<'_, T>
where
    T: ToOwned<Owned: IntoBytes> + ?Sized,
    for<'a> &'a T: IntoBytes,
{
    fn into_bytes(self) -> Bytes {
        match self {
            Cow::Borrowed(value) => value.into_bytes(),
            Cow::Owned(value) => value.into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of `value`'s bytes is that of its message.
    fn is_taken_over(value: impl IntoBytes + AsRef<[u8]>) {
        let before = value.as_ref().as_ptr();
        let bytes = value.into_bytes();
        assert_eq!((bytes.as_ref(), bytes.as_ptr()), (b"ping".as_slice(), before));
    }

    #[test]
    fn owned_bytes_are_given_without_a_copy() {
        let shared = Bytes::from(b"ping".to_vec());
        is_taken_over(&shared);
        is_taken_over(shared);
        is_taken_over(BytesMut::from("ping"));
        is_taken_over(b"ping".to_vec());
        is_taken_over(Box::from(*b"ping") as Box<[u8]>);
        is_taken_over(String::from("ping"));
        let text: Box<str> = "ping".into();
        let before = text.as_ptr();
        assert_eq!(text.into_bytes().as_ptr(), before);
        let text = Cow::<str>::Owned(String::from("ping"));
        let before = text.as_ptr();
        assert_eq!(text.into_bytes().as_ptr(), before);
    }

    #[test]
    fn borrowed_bytes_are_copied_and_may_end_before_their_message() {
        let (text, list) = (String::from("ping"), b"ping".to_vec());
        let messages = [
            text.as_str().into_bytes(),
            list.as_slice().into_bytes(),
            (&text).into_bytes(),
            (&list).into_bytes(),
            b"ping".into_bytes(),
            (*b"ping").into_bytes(),
            Cow::Borrowed(text.as_str()).into_bytes(),
            Cow::Borrowed(list.as_slice()).into_bytes(),
        ];
        drop((text, list));
        for message in messages {
            assert_eq!(message, "ping");
        }
    }
}
