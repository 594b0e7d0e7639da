//! MessagePack for further types of the standard library: each file has the types of one kind.

mod numbers;
mod text;
mod pointers;
mod sets;
mod time;
mod net;
mod crates;
#[cfg(all(unix, any(test, feature = "std")))]
mod hosted;

#[cfg(test)]
mod tests;
