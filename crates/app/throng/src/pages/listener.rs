//! Opens the socket of a page, with errors that say what to do.

use std::io::ErrorKind;

use live::{ListenError, PageListener};

use crate::exit::{Exit, Failure};

/// The variable with a token that the user chose.
const TOKEN_ENV: &str = "THRONG_UI_TOKEN";

/// Listens at this address; `example` shows how to give one.
pub(crate) fn open(address: &str, example: &str) -> Result<PageListener, Failure> {
    // A value that is not Unicode is refused like any other unusable token.
    let token = std::env::var_os(TOKEN_ENV).map(|token| token.to_string_lossy().into_owned());
    PageListener::open(address, token).map_err(|error| match error {
        ListenError::Address { address, source } => Failure::hinted(
            match source.kind() {
                // The address is well-formed, and the system refuses it.
                ErrorKind::AddrInUse
                | ErrorKind::AddrNotAvailable
                | ErrorKind::PermissionDenied => Exit::System,
                _ => Exit::Usage,
            },
            format!("cannot serve the page at {address:?}: {source}"),
            &format!(
                "give an address of this machine and a free port, as in {example}; port 0 takes any free port"
            ),
        ),
        ListenError::Token => Failure::hinted(
            Exit::Usage,
            format!("the token in {TOKEN_ENV} cannot be used"),
            "use 16 or more letters, digits, - or _",
        ),
        error @ ListenError::System(_) => Failure::new(Exit::System, error),
    })
}
