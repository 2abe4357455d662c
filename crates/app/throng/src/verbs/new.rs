//! `throng new`: write a commented scenario to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::args::{NewArgs, TemplateArg};
use crate::exit::{Exit, Failure, written};

fn template(what: TemplateArg) -> &'static str {
    match what {
        TemplateArg::Http => include_str!("new/http.yaml"),
        TemplateArg::Ws => include_str!("new/ws.yaml"),
        TemplateArg::Sse => include_str!("new/sse.yaml"),
        TemplateArg::Chat => include_str!("new/chat.yaml"),
        TemplateArg::Socketio => include_str!("new/socketio.yaml"),
    }
}

pub(crate) fn new(args: &NewArgs) -> Result<Exit, Failure> {
    let text = template(args.what);
    if args.output == Path::new("-") {
        return written(std::io::stdout().write_all(text.as_bytes()));
    }
    let name = args.output.display();
    // The comments name the file as it is called here.
    let text = text.replace("scenario.yaml ", &format!("{name} "));
    write(&args.output, &text, args.force)?;
    written(writeln!(
        std::io::stdout(),
        "wrote {name}; next:\n  throng try {name}    one user, with everything that is sent and received\n  \
         throng run {name}    the load, and its verdict"
    ))
}

/// Writes a file that does not exist yet, unless `force` says that it may.
fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(force).create(true);
    let mut file = options.create_new(!force).open(path).map_err(|error| {
        let name = path.display();
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::hinted(
                Exit::CannotCreate,
                format!("{name} exists already"),
                "choose another name with -o FILE, or replace it with --force",
            ),
            _ => Failure::hinted(
                Exit::CannotCreate,
                format!("cannot write {name}: {error}"),
                "choose another place with -o FILE, or print it with -o -",
            ),
        }
    })?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::new(Exit::Io, error))
}
