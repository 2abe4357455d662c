//! `throng record`: a proxy that records what a browser does, until it is stopped.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use convert::har;
use machine::clock;
use recorder::{
    Authority, AuthorityError, Limits, PEM_FILE, Recorder, RecorderError, Recording, Settings,
    write_private,
};

use super::import::scenarios;
use super::roots;
use crate::args::RecordArgs;
use crate::exit::{Exit, Failure, print_note};

/// Name of a recording that could not be converted and would be lost.
const RESCUED: &str = "recording.har";

pub(crate) fn record(args: &RecordArgs) -> Result<Exit, Failure> {
    if !args.listen.ip().is_loopback() && !args.allow_remote {
        return Err(Failure::hinted(
            Exit::Usage,
            format!("{} can be reached from other machines", args.listen),
            "whoever reaches the recorder sends requests from here: listen on 127.0.0.1, or add --allow-remote",
        ));
    }
    let now = Duration::from_nanos(clock::unix_ns());
    let authority = match &args.ca {
        Some(folder) => Authority::in_folder(folder, now),
        None => Authority::new(now),
    };
    let authority = authority.map_err(no_authority)?;
    let fingerprint = authority.fingerprint().to_owned();
    let settings = Settings {
        address: args.listen,
        authority,
        limits: Limits::default(),
        trusted: args
            .trust
            .iter()
            .map(|path| roots::read(path, "--trust"))
            .collect::<Result<_, _>>()?,
        now,
    };
    let (end, ended) = channel();
    let at_end = end.clone();
    ctrlc::set_handler(move || {
        // The receiver lives until the first message.
        let _ = at_end.send(());
    })
    .map_err(|error| Failure::new(Exit::System, error))?;
    let recorder = Recorder::start(settings).map_err(failure)?;
    print_note(&instructions(&recorder, args.ca.as_deref(), &fingerprint));
    if args.until_stdin_closes {
        std::thread::spawn(move || {
            let read = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            drop((read, end.send(())));
        });
    }
    let _ = ended.recv();
    let recording = recorder.finish();
    for note in recording.notes() {
        print_note(&format!("note: {note}"));
    }
    write(args, &recording)
}

/// Writes the recording and the scenario.
fn write(args: &RecordArgs, recording: &Recording) -> Result<Exit, Failure> {
    let archive = recording.har();
    if let Some(path) = &args.har {
        write_archive(path, &archive)?;
    }
    let name = args.har.clone().unwrap_or_else(|| PathBuf::from(RESCUED));
    let settings = scenarios::recording(args.statics, args.third_parties, false);
    let bytes = archive.clone().into_bytes();
    let convert = |source: scenario::Source<'_>| har::convert(source, &settings);
    let text = match scenarios::converted(&name.display().to_string(), bytes, convert) {
        Ok(text) => text,
        Err(failure) => {
            // Nobody has to do the same in the browser again.
            if args.har.is_none() && !recording.is_empty() {
                write_archive(&name, &archive)?;
                print_note(&format!("note: the recording is kept in {}", name.display()));
            }
            return Err(failure);
        }
    };
    print_note(&format!("recorded {} requests", recording.len()));
    scenarios::write(&text, args.output.as_deref())
}

/// It has secrets: nobody else may read it.
fn write_archive(path: &Path, archive: &str) -> Result<(), Failure> {
    write_private(path, archive.as_bytes()).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::hinted(Exit::CannotCreate, message, "choose another file with --har")
    })
}

/// The options with which a browser uses the recorder and trusts it.
fn instructions(recorder: &Recorder, folder: Option<&Path>, fingerprint: &str) -> String {
    let address = recorder.address();
    let mut text = format!("recording  http://{address}, until Ctrl-C\n");
    let _ = writeln!(
        text,
        "\nChromium, in a profile of its own that trusts this recorder alone:\n  \
         chromium --user-data-dir=\"$(mktemp -d)\" --proxy-server=http://{address} \
         --proxy-bypass-list='<-loopback>' \\\n    \
         --ignore-certificate-errors-spki-list={fingerprint}"
    );
    if let Some(folder) = folder {
        let _ = writeln!(
            text,
            "\nOthers: import {} as an authority for web sites into a profile that is deleted afterwards.",
            folder.join(PEM_FILE).display()
        );
    }
    text
}

fn no_authority(error: AuthorityError) -> Failure {
    let exit = match &error {
        AuthorityError::File { .. } => Exit::CannotCreate,
        AuthorityError::Content { .. } => {
            let hint = "give another directory with --ca, or remove the file";
            return Failure::hinted(Exit::Data, error.to_string(), hint);
        }
        AuthorityError::Certificate(_) | AuthorityError::Config(_) => Exit::System,
    };
    Failure::new(exit, error)
}

fn failure(error: RecorderError) -> Failure {
    match &error {
        RecorderError::Listen { address, source } => Failure::hinted(
            Exit::Unavailable,
            format!("cannot listen on {address}: {source}"),
            "give another address with --listen, or port 0 for a free one",
        ),
        RecorderError::Trust(_) => Failure::new(Exit::Data, error),
        RecorderError::Threads(_) => Failure::new(Exit::System, error),
    }
}
