//! `throng serve` in a program that was built without the systems.

use crate::args::serve::System;
use crate::exit::{Exit, Failure};

pub(crate) fn serve(_: System) -> Result<Exit, Failure> {
    Err(Failure::hinted(
        Exit::Usage,
        "this program was built without the built-in systems".to_owned(),
        "build it with its default features or with --features systems, or name the URL of a system of your own as the target",
    ))
}
