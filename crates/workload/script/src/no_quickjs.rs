//! No JavaScript: this program was built without the feature `full`, and so without QuickJS.

use plan::expr::Value;
use plan::{Script, ScriptFile, ScriptStep};

use crate::calls::{Console, Failure, Fault, Limits, Surroundings};

/// The hint for a [`Fault`].
pub const FAULT_HINT: &str = "build it with its default features";

/// A value of this type never exists.
#[derive(Debug)]
pub enum Context {}

impl Context {
    /// # Errors
    /// Always.
    pub fn imports(
        _: &[ScriptFile],
        _: Limits,
        _: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Vec<ScriptFile>, Fault> {
        Err(absent())
    }

    /// # Errors
    /// Always.
    pub fn load(_: &[ScriptFile], _: &[ScriptFile], _: Limits) -> Result<Context, Fault> {
        Err(absent())
    }

    /// # Errors
    /// Always.
    pub fn new(_: &Script) -> Result<Context, Fault> {
        Err(absent())
    }

    pub fn declared(&self) -> &[String] {
        match *self {}
    }

    pub fn function_names(&self) -> Vec<String> {
        match *self {}
    }

    pub fn step(&mut self, _: &ScriptStep) -> Result<usize, Fault> {
        match *self {}
    }

    pub fn call(
        &mut self,
        _: usize,
        _: &[Value],
        _: &mut Surroundings<'_>,
    ) -> Result<Value, Failure> {
        match *self {}
    }

    pub fn run(
        &mut self,
        _: usize,
        _: &[Value],
        _: &mut Surroundings<'_>,
    ) -> Result<Vec<Value>, Failure> {
        match *self {}
    }

    pub fn take_used(&mut self) -> (u64, u64) {
        match *self {}
    }

    pub fn take_console(&mut self) -> Console {
        match *self {}
    }
}

fn absent() -> Fault {
    Fault { message: "this program was built without scripts".to_owned(), file: None, place: None }
}
