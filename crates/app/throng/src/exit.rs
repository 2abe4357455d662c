//! All exit codes, and how failures are printed.

use std::error::Error as _;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::{ContextKind, ContextValue};
use record::RecordError;

/// Exit codes of the process. Codes from 64 are those of BSD's sysexits(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The run passed; the verb succeeded; no difference found, or an improvement.
    Passed = 0,
    /// A threshold failed; the machine cannot hold that many users yet; the candidate is worse.
    Failed = 1,
    /// The run cannot be trusted; the comparison is undecided.
    Untrusted = 2,
    /// Invalid command line.
    Usage = 64,
    /// The scenario or another input is invalid.
    Data = 65,
    /// An input cannot be read.
    NoInput = 66,
    /// A name does not resolve.
    NoHost = 68,
    /// The target cannot be started.
    Unavailable = 69,
    /// The system refused a resource the generator needs, or cannot hold that many users.
    System = 71,
    /// A run directory cannot be created.
    CannotCreate = 73,
    /// Reading or writing failed; the disk may be full.
    Io = 74,
    /// Of k6: a threshold failed.
    K6Thresholds = 99,
    /// Of k6: `setup` took too long.
    K6SetupTimeout = 100,
    /// Of k6: `teardown` took too long.
    K6TeardownTimeout = 101,
    /// Of k6: an option is wrong.
    K6Config = 104,
    /// Of k6: the run was interrupted.
    K6Interrupted = 105,
    /// Of k6: the script's top level, `setup` or `teardown` has thrown.
    K6Exception = 107,
    /// Of k6: the script has ended the run.
    K6Aborted = 108,
    /// Stopped at once by a second Ctrl-C.
    Interrupted = 130,
}

/// Why a verb failed: the message and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    report: miette::Report,
}

/// The error, its causes and its hint in one line, for output other than a terminal.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = self.report.chain().map(ToString::to_string);
        f.write_str(&causes.collect::<Vec<_>>().join(": "))?;
        match self.report.help() {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl Failure {
    /// An error and its chain of causes.
    pub(crate) fn new(
        exit: Exit,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Failure {
        Failure { exit, report: miette::Report::from_err(error) }
    }

    /// A sentence and a hint.
    pub(crate) fn hinted(exit: Exit, message: String, hint: &str) -> Failure {
        // Before lines are broken.
        let [message, hint] = [message, hint.to_owned()].map(|mut text| {
            plan::secret::hide_credentials(&mut text);
            text
        });
        let error = miette::MietteDiagnostic::new(message).with_help(hint);
        Failure { exit, report: miette::Report::new(error) }
    }

    /// A file that could not be written, and a hint.
    pub(crate) fn unwritten(exit: Exit, error: &RecordError, hint: &str) -> Failure {
        let cause = error.source().map(|cause| format!(": {cause}"));
        Failure::hinted(exit, format!("{error}{}", cause.unwrap_or_default()), hint)
    }

    /// An error at a position of a text.
    pub(crate) fn at_source(exit: Exit, report: miette::Report) -> Failure {
        Failure { exit, report }
    }

    /// Prints it on standard error.
    pub(crate) fn print(self) -> Exit {
        print_error(&format!("{:?}", self.report));
        self.exit
    }
}

/// Whether the user wants to see errors only (`--quiet`).
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses warnings from now on.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// True if warnings are printed.
pub(crate) fn shows_warnings() -> bool {
    !IS_QUIET.load(Ordering::Relaxed)
}

/// Prints a line that is no error, unless `--quiet`.
pub(crate) fn print_note(text: &str) {
    if shows_warnings() {
        print_error(text);
    }
}

/// Prints a line on standard error, with control characters made visible, and without the credentials of URLs. Ignores a
/// closed standard error: nobody reads it.
pub(crate) fn print_error(text: &str) {
    let mut text = report::visible(text);
    plan::secret::hide_credentials(&mut text);
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Replaces the standard library's message for a malformed number.
const WANTED_NUMBER: &str = "expected a whole number";
/// The standard library's message for a malformed number.
const NO_NUMBER: &str = "invalid digit found in string";

/// clap's message without its tips, as part of a sentence.
pub(crate) fn message_of(error: &clap::Error) -> String {
    let text = error.to_string().replace(NO_NUMBER, WANTED_NUMBER);
    let lines = text.lines().take_while(|line| !line.is_empty());
    let lines: Vec<&str> = lines.map(str::trim).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// Options that had another name, by verb: verb, old name, new name.
const RENAMED: &[(&str, &str, &str)] = &[
    ("run", "--anyway", "--force"),
    ("experiment", "--anyway", "--force"),
    ("capacity", "--anyway", "--force"),
    ("compare", "--anyway", "--force"),
    ("run", "--judge-rest", "--allow-lost-workers"),
    ("show", "--judge-rest", "--allow-lost-workers"),
    ("run", "--for", "--duration"),
    ("probe", "--for", "--duration"),
    ("capacity", "--for", "--time-limit"),
    ("doctor", "--for", "--users"),
    ("lab", "--for", "--duration"),
    ("analyze", "--cut", "--skip"),
];

/// The new name of an option that the command line gives by its old one.
fn new_name(error: &clap::Error, verb: &str) -> Option<(&'static str, &'static str)> {
    let ContextValue::String(option) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let renamed = RENAMED.iter();
    let mut renamed = renamed.filter(|(of, old, _)| *of == verb && old == option);
    renamed.next().map(|(_, old, new)| (*old, *new))
}

/// Prints an error of the command line, or the help that was requested, and returns the exit code.
pub(crate) fn usage(mut error: clap::Error, verb: &str) -> ExitCode {
    if let Some((old, new)) = new_name(&error, verb) {
        let tip = format!("'{old}' is now called '{new}'");
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let is_no_number = error.source().is_some_and(|source| source.to_string() == NO_NUMBER);
    // A write error on standard error cannot be reported anywhere.
    let _ = if is_no_number {
        // The standard library's message does not say what is expected.
        let text = error.render().to_string();
        write!(std::io::stderr(), "{}", text.replace(NO_NUMBER, WANTED_NUMBER))
    } else {
        error.print()
    };
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Passed.into() }
}

/// Prints a text on standard output. Whatever names and answers of others stand in it, it controls no terminal.
pub(crate) fn print_text(text: &str) -> Result<Exit, Failure> {
    written(write!(std::io::stdout(), "{}", report::visible(text)))
}

/// Maps the result of writing output. A closed pipe is no failure: `| head` closes it.
pub(crate) fn written(result: std::io::Result<()>) -> Result<Exit, Failure> {
    match result {
        Ok(()) => Ok(Exit::Passed),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Passed),
        Err(error) => Err(Failure::new(Exit::Io, error)),
    }
}
