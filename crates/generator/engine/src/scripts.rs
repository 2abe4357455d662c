//! The JavaScript of a plan, as a loop runs it.

use plan::Plan;
use plan::expr::{EvalError, Value};
use script::{Console, Context, Failure, Surroundings};
use stats::rng::Rng;

/// The script of a loop.
#[derive(Debug)]
pub(crate) struct Scripts {
    context: Context,
    /// The last expression that was evaluated has no value because a script failed.
    pub(crate) has_failed: bool,
}

impl Scripts {
    /// Loads what the plan has. The error says why that cannot be.
    pub(crate) fn load(plan: &Plan) -> Result<Option<Box<Scripts>>, String> {
        let Some(script) = &plan.script else {
            return Ok(None);
        };
        let context = Context::new(script).map_err(|fault| fault.to_string())?;
        Ok(Some(Box::new(Scripts { context, has_failed: false })))
    }

    /// Calls the function of this number.
    pub(crate) fn call(
        &mut self,
        function: u16,
        arguments: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Value, EvalError> {
        let mut around = Surroundings { now_ms, rng };
        let found = self.context.call(usize::from(function), arguments, &mut around);
        self.noted(found)
    }

    /// Runs the step of this number; the values are those of its outputs.
    pub(crate) fn run(
        &mut self,
        step: u16,
        inputs: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Vec<Value>, EvalError> {
        let mut around = Surroundings { now_ms, rng };
        let found = self.context.run(usize::from(step), inputs, &mut around);
        self.noted(found)
    }

    fn noted<T>(&mut self, found: Result<T, Failure>) -> Result<T, EvalError> {
        self.has_failed = found.is_err();
        found.map_err(|failure| EvalError::Script(failure.0))
    }

    /// The lines that calls have written since the last reading.
    pub(crate) fn take_console(&mut self) -> Console {
        self.context.take_console()
    }

    /// Calls since the last reading, and the time that they took.
    pub(crate) fn take_used(&mut self) -> (u64, u64) {
        self.context.take_used()
    }
}
