//! `throng agent` and `throng fleet` in a program that was built without them, and runs without a fleet.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use controller::{Fleet, Interrupt};
use plan::Plan;

use crate::args::fleet::{AgentArgs, FleetArgs, RunFleetArgs};
use crate::exit::{Exit, Failure};
use crate::terminal::View;

pub(crate) fn agent(_: &AgentArgs) -> Result<Exit, Failure> {
    Err(none())
}

pub(crate) fn fleet(_: &FleetArgs) -> Result<Exit, Failure> {
    Err(none())
}

/// A run here; one by a fleet is an error.
pub(crate) fn of_run(
    args: &RunFleetArgs,
    _: (&str, &Plan),
    _: &Arc<Interrupt>,
    _: &Rc<RefCell<View>>,
) -> Result<Option<Rc<dyn Fleet>>, Failure> {
    match args.fleet {
        Some(_) => Err(none()),
        None => Ok(None),
    }
}

fn none() -> Failure {
    Failure::hinted(
        Exit::Usage,
        "this program was built without fleets".to_owned(),
        "build it with its default features",
    )
}
