//! `throng note RUN [TEXT]`: what somebody wrote about a run.

use std::io::Write;

use record::{Note, Run};

use crate::args::NoteArgs;
use crate::exit::{Exit, Failure, written};

pub(crate) fn note(args: &NoteArgs) -> Result<Exit, Failure> {
    // A directory of something else gets no note.
    let run = Run::open(&args.run).map_err(|error| Failure::new(Exit::NoInput, error))?;
    let Some(text) = &args.text else {
        let note = Note::read(run.path());
        let lines = note.text().map(|text| format!("{text}\n"));
        return written(write!(std::io::stdout(), "{}", lines.unwrap_or_default()));
    };
    let note = Note::parse(text).map_err(|error| Failure::new(Exit::Usage, error))?;
    note.write(run.path()).map_err(|error| Failure::new(Exit::Io, error))?;
    Ok(Exit::Passed)
}

/// The line with the note, printed below the verdict; empty if there is none.
pub(crate) fn line(run: &Run) -> String {
    let note = Note::read(run.path());
    note.text().map_or(String::new(), |text| format!("{:<11}{text}\n", "note"))
}
