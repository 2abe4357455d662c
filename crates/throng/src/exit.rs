//! Exit codes, all of them, and how a failure is told.

use std::error::Error as _;
use std::io::Write;
use std::process::ExitCode;

/// What the process ends with. From 64 up as in BSD's sysexits(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The run passed; the verb did what was asked; no difference seen, or a better one.
    Passed = 0,
    /// A threshold does not hold; the machine cannot hold so many users as it is; what was compared
    /// is worse.
    Failed = 1,
    /// The run cannot be trusted; what was compared cannot be told.
    Untrusted = 2,
    /// The command line is wrong.
    Usage = 64,
    /// The scenario, or another input, is wrong.
    Data = 65,
    /// An input cannot be read.
    NoInput = 66,
    /// A name does not resolve.
    NoHost = 68,
    /// The target cannot be started.
    Unavailable = 69,
    /// The system denied something the generator needs, or cannot hold so many users.
    System = 71,
    /// A run directory cannot be made.
    CannotCreate = 73,
    /// Reading or writing failed; the disk may be full.
    Io = 74,
    /// Ended at once, by the second Ctrl-C.
    Interrupted = 130,
}

/// Why a verb did not do its work: what to say, and what to end with.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    report: miette::Report,
}

impl Failure {
    /// An error and its chain of causes.
    pub(crate) fn new(
        exit: Exit,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Failure {
        Failure {
            exit,
            report: miette::Report::from_err(error),
        }
    }

    /// A sentence and a hint.
    pub(crate) fn hinted(exit: Exit, message: String, hint: &str) -> Failure {
        let error = miette::MietteDiagnostic::new(message).with_help(hint);
        Failure {
            exit,
            report: miette::Report::new(error),
        }
    }

    /// What stands at a place of a text.
    pub(crate) fn shown(exit: Exit, report: miette::Report) -> Failure {
        Failure { exit, report }
    }

    /// The error, its causes and its hint, in one line: for people who see no terminal.
    #[cfg(feature = "web")]
    pub(crate) fn words(&self) -> String {
        let causes = self.report.chain().map(ToString::to_string);
        let mut text = causes.collect::<Vec<_>>().join(": ");
        if let Some(hint) = self.report.help() {
            text += &format!(" ({hint})");
        }
        text
    }

    /// Says it.
    pub(crate) fn tell(self) -> Exit {
        say(&format!("{:?}", self.report));
        self.exit
    }
}

/// Tells something on standard error, beside a verb's output, whoever made the text. Where that is closed
/// nobody is left to be told.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", report::visible(text));
}

/// What is said instead of a number that is none.
const WANTED_NUMBER: &str = "expected a whole number";
/// What clap says of a number that is none.
const NO_NUMBER: &str = "invalid digit found in string";

/// What clap says without its tips, as a part of a sentence.
pub(crate) fn in_words(error: &clap::Error) -> String {
    let text = error.to_string().replace(NO_NUMBER, WANTED_NUMBER);
    let lines = text.lines().take_while(|line| !line.is_empty());
    let lines: Vec<&str> = lines.map(str::trim).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// clap's own words, and our exit code for them.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // As above: there is no better place to say that this failed.
    let _ = match error
        .source()
        .is_some_and(|source| source.to_string() == NO_NUMBER)
    {
        // It has the words of the standard library, which do not say what is expected.
        true => write!(
            std::io::stderr(),
            "{}",
            error.render().to_string().replace(NO_NUMBER, WANTED_NUMBER)
        ),
        false => error.print(),
    };
    if error.use_stderr() {
        Exit::Usage.into()
    } else {
        Exit::Passed.into()
    }
}

/// Output that cannot be written: a closed pipe is how `| head` ends us, and is fine.
pub(crate) fn written(result: std::io::Result<()>) -> Result<Exit, Failure> {
    match result {
        Ok(()) => Ok(Exit::Passed),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Passed),
        Err(error) => Err(Failure::new(Exit::Io, error)),
    }
}
