//! The product's own folder: where it is, how its files are replaced, locked, signed and encrypted.
//!
//! | part | its one job |
//! | --- | --- |
//! | [`Folders`] | where everything is kept, on each platform and under `--config-dir` |
//! | [`file`] | reading with a limit, atomic replacement, the lock between processes |
//! | [`MasterKey`] | the one key of a folder, in the keychain or in a file |
//! | [`Sealed`] | a JSON file that proves it was written by this product, with a revision |
//! | [`Secrets`] | what `${secret:id}` stands for, encrypted |
//!
//! Stands above `config`, `policy`, `audit` and `auth`, which keep their data here. Everything in it is short, blocking
//! file work. What must never happen: a store that does not verify being used or overwritten, half a file, a lock
//! held while anything is awaited, a second master key, a secret in an error.

pub mod file;

mod folder;
mod key;
mod keychain;
mod sealed;
mod secret;

pub use folder::Folders;
pub(crate) use folder::make_private;
pub use key::{KeyPlace, MasterKey};
pub(crate) use key::{decode_hex, hmac_under};
pub use sealed::{Sealed, Snapshot};
pub use secret::{Secret, SecretName, Secrets};
