//! Where pages are served, and by which token they are seen.

use std::io::ErrorKind;

use live::{Front, FrontError};

use crate::exit::{Exit, Failure};

/// The token where somebody chose one.
const TOKEN_ENV: &str = "THRONG_UI_TOKEN";

/// Listens at this address; `example` is how one is given.
pub(crate) fn open(address: &str, example: &str) -> Result<Front, Failure> {
    // One that is no Unicode is no token either, and is refused as such.
    let chosen = std::env::var_os(TOKEN_ENV).map(|token| token.to_string_lossy().into_owned());
    Front::open(address, chosen).map_err(|error| match error {
        FrontError::Address { address, source } => Failure::hinted(
            match source.kind() {
                // It was understood, and the system denies it.
                ErrorKind::AddrInUse
                | ErrorKind::AddrNotAvailable
                | ErrorKind::PermissionDenied => Exit::System,
                _ => Exit::Usage,
            },
            format!("cannot serve the page at {address:?}: {source}"),
            &format!(
                "give an address of this machine and a free port, as in {example}; port 0 is any"
            ),
        ),
        FrontError::Token => Failure::hinted(
            Exit::Usage,
            format!("the token in {TOKEN_ENV} cannot be used"),
            "take 16 or more letters, digits, - or _",
        ),
        error @ FrontError::System(_) => Failure::new(Exit::System, error),
    })
}
