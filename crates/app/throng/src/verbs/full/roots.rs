//! Files of certificates that a command line trusts.

use std::path::Path;

use crate::exit::{Exit, Failure};

/// Longest file of authorities, bytes.
const BYTES_MAX: u64 = 16 << 20;

/// The name and content of a PEM file that this option names.
pub(super) fn read(path: &Path, option: &str) -> Result<(String, Vec<u8>), Failure> {
    let name = path.display().to_string();
    match regular::read(path, BYTES_MAX) {
        Ok(pem) => Ok((name, pem)),
        Err(error) => {
            let message = format!("cannot read {name}: {error}");
            let hint = format!("give a PEM file with {option}");
            Err(Failure::hinted(Exit::NoInput, message, &hint))
        }
    }
}
