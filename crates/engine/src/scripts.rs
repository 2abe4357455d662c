//! What a plan has in JavaScript, as a loop runs it. Without the feature `scripts` there is no such plan.

use plan::Plan;
use plan::expr::{EvalError, Value};
#[cfg(feature = "scripts")]
use script::{Context, Surroundings};
use stats::rng::Rng;

/// No context: this program was built without scripts.
#[cfg(not(feature = "scripts"))]
#[derive(Debug)]
enum Context {}

/// The script of a loop.
#[derive(Debug)]
pub(crate) struct Scripts {
    context: Context,
    /// The last expression that was evaluated has no value because a script failed.
    pub(crate) has_failed: bool,
}

impl Scripts {
    /// Loads what the plan has. The error says why that cannot be.
    #[cfg(feature = "scripts")]
    pub(crate) fn load(plan: &Plan) -> Result<Option<Box<Scripts>>, String> {
        let Some(script) = &plan.script else {
            return Ok(None);
        };
        let context = Context::new(script).map_err(|fault| fault.to_string())?;
        Ok(Some(Box::new(Scripts {
            context,
            has_failed: false,
        })))
    }

    #[cfg(not(feature = "scripts"))]
    pub(crate) fn load(plan: &Plan) -> Result<Option<Box<Scripts>>, String> {
        match plan.script {
            Some(_) => Err("this program was built without scripts".to_owned()),
            None => Ok(None),
        }
    }

    /// Calls the function of this number.
    pub(crate) fn call(
        &mut self,
        function: u16,
        arguments: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Value, EvalError> {
        self.timed(|context| context.called(function, arguments, now_ms, rng))
    }

    /// Runs the step of this number; the values are those of its outputs.
    pub(crate) fn run(
        &mut self,
        step: u16,
        inputs: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Vec<Value>, EvalError> {
        self.timed(|context| context.ran(step, inputs, now_ms, rng))
    }

    fn timed<T>(
        &mut self,
        call: impl FnOnce(&mut Context) -> Result<T, String>,
    ) -> Result<T, EvalError> {
        let found = call(&mut self.context);
        self.has_failed = found.is_err();
        found.map_err(EvalError::Script)
    }

    /// Calls since the last reading, and the time that they took.
    pub(crate) fn take_used(&mut self) -> (u64, u64) {
        self.context.taken()
    }
}

/// Calls with the errors' texts.
trait Calls {
    fn called(
        &mut self,
        function: u16,
        arguments: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Value, String>;
    fn ran(
        &mut self,
        step: u16,
        inputs: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Vec<Value>, String>;
    fn taken(&mut self) -> (u64, u64);
}

#[cfg(feature = "scripts")]
impl Calls for Context {
    fn called(
        &mut self,
        function: u16,
        arguments: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Value, String> {
        let mut around = Surroundings { now_ms, rng };
        let found = self.call(usize::from(function), arguments, &mut around);
        found.map_err(|failure| failure.0)
    }

    fn ran(
        &mut self,
        step: u16,
        inputs: &[Value],
        now_ms: i64,
        rng: &mut Rng,
    ) -> Result<Vec<Value>, String> {
        let mut around = Surroundings { now_ms, rng };
        let found = Context::run(self, usize::from(step), inputs, &mut around);
        found.map_err(|failure| failure.0)
    }

    fn taken(&mut self) -> (u64, u64) {
        self.take_used()
    }
}

#[cfg(not(feature = "scripts"))]
impl Calls for Context {
    fn called(&mut self, _: u16, _: &[Value], _: i64, _: &mut Rng) -> Result<Value, String> {
        match *self {}
    }

    fn ran(&mut self, _: u16, _: &[Value], _: i64, _: &mut Rng) -> Result<Vec<Value>, String> {
        match *self {}
    }

    fn taken(&mut self) -> (u64, u64) {
        match *self {}
    }
}
