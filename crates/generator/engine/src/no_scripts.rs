//! No JavaScript: this program was built without the feature `scripts`, and runs no plan that has a script.

use std::convert::Infallible;

use plan::Plan;
use plan::expr::{EvalError, Value};
use stats::rng::Rng;

/// The script of a loop, of which there is none.
#[derive(Debug)]
pub(crate) struct Scripts {
    never: Infallible,
    pub(crate) has_failed: bool,
}

impl Scripts {
    pub(crate) fn load(plan: &Plan) -> Result<Option<Box<Scripts>>, String> {
        match plan.script {
            Some(_) => Err("this program was built without scripts".to_owned()),
            None => Ok(None),
        }
    }

    pub(crate) fn call(
        &mut self,
        _: u16,
        _: &[Value],
        _: i64,
        _: &mut Rng,
    ) -> Result<Value, EvalError> {
        match self.never {}
    }

    pub(crate) fn run(
        &mut self,
        _: u16,
        _: &[Value],
        _: i64,
        _: &mut Rng,
    ) -> Result<Vec<Value>, EvalError> {
        match self.never {}
    }

    pub(crate) fn take_used(&mut self) -> (u64, u64) {
        match self.never {}
    }
}
