//! `throng protos URL`: list the methods of a server that describes its services, or write their files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use protos::reflection::{ReflectionError, Server, Source};

use super::roots;
use crate::args::ProtosArgs;
use crate::exit::{Exit, Failure, written};

pub(crate) fn protos(args: &ProtosArgs) -> Result<Exit, Failure> {
    let server = Server {
        url: args.url.clone(),
        metadata: args.headers.iter().map(|own| header(own)).collect::<Result<_, _>>()?,
        verifies: !args.insecure,
        roots: args.ca.iter().map(|own| roots::read(own, "--ca")).collect::<Result<_, _>>()?,
        wait: args.timeout,
    };
    let sources = protos::reflection::sources(&server).map_err(failure)?;
    let text = match &args.output {
        None => methods(&sources),
        Some(directory) => {
            write_all(directory, &sources, args.force)?;
            summary(directory, &sources)
        }
    };
    written(std::io::stdout().write_all(text.as_bytes()))
}

/// A line with name and value.
fn header(text: &str) -> Result<(String, String), Failure> {
    let parts = text.split_once(':').map(|(name, value)| {
        let name = name.trim().to_owned();
        (name, value.trim().to_owned())
    });
    parts.ok_or_else(|| {
        let message = format!("the header {text:?} has no colon");
        Failure::hinted(Exit::Usage, message, "write NAME: VALUE")
    })
}

fn failure(error: ReflectionError) -> Failure {
    let hinted = |exit, hint| {
        let causes = std::iter::successors(std::error::Error::source(&error), |e| e.source());
        let causes = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Failure::hinted(exit, causes, hint)
    };
    match &error {
        ReflectionError::Url { .. } | ReflectionError::Metadata(_) => hinted(
            Exit::Usage,
            "write http://HOST:PORT or https://HOST:PORT, and headers as NAME: VALUE",
        ),
        ReflectionError::Trust(_) => hinted(Exit::NoInput, "give a PEM file with --ca"),
        ReflectionError::Silent => hinted(
            Exit::Unavailable,
            "switch on its reflection service, or name its .proto files: `grpc: { protos: [service.proto] }`",
        ),
        ReflectionError::Unprintable { .. } | ReflectionError::TooMuch => hinted(
            Exit::Data,
            "name the .proto files themselves: `grpc: { protos: [service.proto] }`",
        ),
        ReflectionError::Refused { .. } => hinted(
            Exit::Unavailable,
            "if it wants credentials, give them: --header 'authorization: Bearer TOKEN'",
        ),
        ReflectionError::Connect { .. }
        | ReflectionError::Protocol(_)
        | ReflectionError::Late(_) => hinted(
            Exit::Unavailable,
            "give the address of a server of gRPC: http:// without TLS, https:// with it",
        ),
        ReflectionError::Slow(_) => {
            hinted(Exit::Unavailable, "allow each answer more time: --timeout 30s")
        }
        ReflectionError::Runtime(_) => Failure::new(Exit::System, error),
    }
}

/// All methods, a line each.
fn methods(sources: &BTreeMap<String, Source>) -> String {
    let all = sources.values().flat_map(|source| &source.methods);
    all.fold(String::new(), |text, method| text + method + "\n")
}

/// Whether something else than this text stands there. The server chose the name: it may be that of a pipe.
fn is_other(path: &Path, text: &str) -> bool {
    match regular::read(path, text.len() as u64) {
        Ok(found) => found != text.as_bytes(),
        Err(error) => matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge),
    }
}

/// Writes the files; before anything is written, each is compared with the one that is there.
fn write_all(
    directory: &Path,
    sources: &BTreeMap<String, Source>,
    force: bool,
) -> Result<(), Failure> {
    let texts: Vec<(PathBuf, &str)> =
        sources.iter().map(|(name, source)| (directory.join(name), source.text.as_str())).collect();
    if !force {
        for (path, text) in &texts {
            if is_other(path, text) {
                let message = format!("{} exists already, and differs", path.display());
                let hint = "choose another directory with -o DIR, or replace it with --force";
                return Err(Failure::hinted(Exit::CannotCreate, message, hint));
            }
        }
    }
    for (path, text) in &texts {
        let hint = "choose another directory with -o DIR";
        let folder = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::hinted(Exit::CannotCreate, message, hint)
        })?;
        record::write_whole(path, text.as_bytes())
            .map_err(|error| Failure::unwritten(Exit::CannotCreate, &error, hint))?;
    }
    Ok(())
}

/// The files written, and the lines that a scenario needs for them.
fn summary(directory: &Path, sources: &BTreeMap<String, Source>) -> String {
    let folder = directory.display();
    let mut text = String::new();
    for name in sources.keys() {
        // Writing to a text does not fail.
        let _ = writeln!(text, "wrote {}", directory.join(name).display());
    }
    let with_methods = sources.values().filter(|source| !source.methods.is_empty());
    let names: Vec<String> = with_methods.map(|source| quoted(&source.name)).collect();
    let _ = write!(
        text,
        "\nIn a scenario beside {folder}:\n\ngrpc:\n  protos: [{}]\n  import_paths: [{}]\n\nwith the methods\n",
        names.join(", "),
        quoted(&folder.to_string()),
    );
    for method in sources.values().flat_map(|source| &source.methods) {
        let _ = writeln!(text, "  {method}");
    }
    text
}

/// A name as YAML takes it.
fn quoted(name: &str) -> String {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-' | '/');
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}
