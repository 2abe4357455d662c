//! `throng protos` in a program that was built without gRPC.

use crate::args::ProtosArgs;
use crate::exit::{Exit, Failure};

pub(crate) fn protos(_: &ProtosArgs) -> Result<Exit, Failure> {
    Err(Failure::hinted(
        Exit::Usage,
        "this program was built without gRPC".to_owned(),
        "build it with its default features",
    ))
}
