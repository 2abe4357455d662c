//! The script of a scenario while it is compiled.

use plan::{Script, ScriptFile, ScriptStep};
use script::{Context, FAULT_HINT, Fault, Limits, SCRIPT_BYTES_MAX};

/// An error in a text in JavaScript.
pub(super) struct Problem {
    pub(super) message: String,
    /// The file that it is in, if it is known.
    pub(super) file: Option<String>,
    /// Line and column.
    pub(super) place: Option<(u32, u32)>,
    pub(super) hint: &'static str,
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Problem {
        let Fault { message, file, place } = fault;
        Problem { message, file, place, hint: FAULT_HINT }
    }
}

/// The functions of the files, and the steps so far.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    files: Vec<ScriptFile>,
    /// The modules that these import.
    imports: Vec<ScriptFile>,
    time_max_ns: u64,
    memory_bytes_max: usize,
    /// The functions that can be called.
    names: Vec<String>,
    /// The functions that are called; a call names them by their index here.
    used: Vec<String>,
    steps: Vec<ScriptStep>,
    /// There is a file, and it is wrong: nothing that is called is blamed for that.
    is_broken: bool,
    context: Option<Context>,
}

impl Scripts {
    pub(super) fn limit(&mut self, time_max_ns: u64, memory_bytes_max: usize) {
        self.time_max_ns = time_max_ns;
        self.memory_bytes_max = memory_bytes_max;
    }

    /// There is a file, of which nothing is known yet.
    pub(super) fn break_down(&mut self) {
        self.is_broken = true;
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a function; it is counted as called.
    pub(super) fn function(&mut self, name: &str) -> Option<u16> {
        if self.is_broken {
            return Some(0);
        }
        if let Some(at) = self.used.iter().position(|used| used == name) {
            return u16::try_from(at).ok();
        }
        if !self.names.iter().any(|known| known == name) {
            return None;
        }
        self.used.push(name.to_owned());
        u16::try_from(self.used.len() - 1).ok()
    }

    /// The script that the loops need; `None`: they need none.
    pub(super) fn finish(self) -> Option<Script> {
        if self.used.is_empty() && self.steps.is_empty() {
            return None;
        }
        Some(Script {
            declared: self
                .context
                .as_ref()
                .map_or_else(Vec::new, |context| context.declared().to_vec()),
            files: self.files,
            imports: self.imports,
            functions: self.used,
            steps: self.steps,
            time_max_ns: self.time_max_ns,
            memory_bytes_max: self.memory_bytes_max,
        })
    }

    fn limits(&self) -> Limits {
        Limits { time_max_ns: self.time_max_ns, memory_bytes_max: self.memory_bytes_max }
    }

    /// Reads the files, and the modules that they import, by `read`; returns the names of their functions.
    pub(super) fn load(
        &mut self,
        files: Vec<ScriptFile>,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<&[String], Problem> {
        let imports = Context::imports(&files, self.limits(), read)?;
        let bytes: usize = files.iter().chain(&imports).map(|file| file.text.len()).sum();
        if bytes > SCRIPT_BYTES_MAX {
            return Err(Problem {
                message: "the script is too long".to_owned(),
                file: None,
                place: None,
                hint: "all scripts of a scenario have at most 256 KiB together",
            });
        }
        let context = Context::load(&files, &imports, self.limits())?;
        self.names = context.function_names();
        self.context = Some(context);
        self.files = files;
        self.imports = imports;
        self.is_broken = false;
        Ok(&self.names)
    }

    /// Compiles a step; returns its number.
    pub(super) fn step(&mut self, step: ScriptStep) -> Result<u16, Problem> {
        let mut context = match self.context.take() {
            Some(context) => context,
            None => Context::load(&[], &[], self.limits())?,
        };
        let made = context.step(&step);
        self.context = Some(context);
        made?;
        self.steps.push(step);
        Ok(super::index(self.steps.len() - 1))
    }
}
