//! A scenario's JavaScript: functions that expressions call, and steps.

use std::sync::Arc;

use serde::Serialize;

use crate::expr::Expr;
use crate::ids::Slot;

/// Functions and steps in JavaScript, and what their calls may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Script {
    /// The files in the order in which they are loaded; empty: there are steps alone.
    pub files: Vec<ScriptFile>,
    /// The modules that these import, and that they import themselves.
    pub imports: Vec<ScriptFile>,
    /// Names that the files declare at their tops.
    pub declared: Vec<String>,
    /// The functions that expressions call; [`Expr::Script`] has their numbers.
    pub functions: Vec<String>,
    /// The steps, by the number in their [`ScriptOp`].
    pub steps: Vec<ScriptStep>,
    /// CPU time of one call.
    pub time_max_ns: u64,
    /// Memory of a loop's context.
    pub memory_bytes_max: usize,
}

/// A file of functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptFile {
    /// As the scenario names it.
    pub name: String,
    pub text: Arc<str>,
}

/// The text of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptStep {
    pub text: Arc<str>,
    /// The included file that it is in; `None`: the scenario itself.
    pub file: Option<String>,
    /// The file's line of its first one, from 1.
    pub line: u32,
    /// Names of the values that it reads.
    pub inputs: Vec<String>,
    /// Names of the variables that it sets.
    pub outputs: Vec<String>,
}

/// Running a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScriptOp {
    /// Index in [`Script::steps`].
    pub step: u16,
    /// The values of its inputs.
    pub inputs: Vec<Expr>,
    /// The variables of its outputs.
    pub outputs: Vec<Slot>,
}
