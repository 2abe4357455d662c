//! Signs with users' keys: tokens, and requests to AWS services.
//!
//! [`Key`] reads a key and signs JSON Web Tokens with it (RFC 7515, 7518, 7519 and 8037); [`Signer`] is one that a plan
//! holds, and that is compared without showing the key. [`aws`] signs requests by Signature Version 4. No file, no clock:
//! texts and times are arguments. The random numbers of ECDSA and RSA-PSS are the system's, as a secure signature needs
//! them; all other signatures of the same text are equal.

pub mod aws;
mod key;
mod pem;
mod token;

pub use key::{Algorithm, Key};
pub use pem::{KeyError, PemContent};
pub use token::{Signer, TokenError};
