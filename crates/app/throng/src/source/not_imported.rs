//! Tsung's files in a program that was built without imports: an error.

use super::Text;
use crate::exit::Failure;
use crate::imports::{self, Leniency};

pub(crate) fn from_tsung(_: &str, _: &[u8], _: Leniency) -> Result<Text, Failure> {
    Err(imports::none())
}
