//! Scripts of k6, as scenarios.

use std::path::Path;

use k6::{Fault, Given, Variable};
use miette::{MietteDiagnostic, Severity};

use super::{FILES_BYTES_MAX, Text, folder};
use crate::args::K6Args;
use crate::excerpt;
use crate::exit::{Exit, Failure, print_error};

/// True if the file is a script of k6 by its name.
pub(crate) fn is_script(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["js", "mjs", "ts"].contains(&extension))
}

/// Writes the scenario of a script, or prints what is wrong with it.
pub(crate) fn scenario(name: &str, args: &K6Args) -> Result<Text, Failure> {
    let folder = folder(name);
    let script = Path::new(name);
    let read = |file: &str| {
        let path = folder.join(file);
        // The user names the script, and the script names others.
        if path != script && leads_out(&folder, &path) {
            return Err("it is a link that leads out of the script's folder".to_owned());
        }
        regular::read(&path, FILES_BYTES_MAX).map_err(|error| error.to_string())
    };
    let variables = variables(args)?;
    let env: Vec<(String, String)> =
        variables.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect();
    let file = Path::new(name).file_name().and_then(|file| file.to_str()).unwrap_or(name);
    let given =
        Given { vus: args.vus, iterations: args.iterations, duration: args.load_duration.clone() };
    let exit = |of_k6: Exit| if args.k6_exit_codes { of_k6 } else { Exit::Data };
    let script = k6::read(file, &env, &read)
        .map_err(|fault| wrong(name, &fault, &read, exit(Exit::K6Exception)))?;
    let text = k6::scenario(&script, &given, &variables)
        .map_err(|fault| wrong(name, &fault, &read, exit(Exit::K6Config)))?;
    Ok(Text { name: name.to_owned(), text, sets: Vec::new(), original: None })
}

/// Whether what this path means is in another folder.
fn leads_out(folder: &Path, path: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = [folder, path].map(std::fs::canonicalize);
    matches!(real, [Ok(folder), Ok(path)] if !path.starts_with(&folder))
}

/// `__ENV`: what is given, and the environment.
fn variables(args: &K6Args) -> Result<Vec<Variable>, Failure> {
    let mut variables = Vec::new();
    for pair in &args.env {
        let Some((name, value)) = pair.split_once('=') else {
            let message = format!("{pair:?} is no variable");
            return Err(Failure::hinted(Exit::Usage, message, "write -e NAME=VALUE"));
        };
        variables.retain(|variable: &Variable| variable.name != name);
        variables.push(Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            is_inherited: false,
        });
    }
    for (name, value) in std::env::vars_os() {
        let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else {
            continue;
        };
        if !variables.iter().any(|variable| variable.name == name) {
            variables.push(Variable { name, value, is_inherited: true });
        }
    }
    Ok(variables)
}

/// Prints what is wrong with a script, at its place.
fn wrong(
    name: &str,
    fault: &Fault,
    read: &dyn Fn(&str) -> Result<Vec<u8>, String>,
    exit: Exit,
) -> Failure {
    let diagnostic = MietteDiagnostic::new(fault.message.clone())
        .with_code("k6-script")
        .with_severity(Severity::Error);
    let file = fault.file.as_deref().unwrap_or_default();
    let text = read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.unwrap_or_default();
    let span = fault.place.and_then(|(line, column)| {
        let line = text.split_inclusive('\n').nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        let column = usize::try_from(column).ok()?.saturating_sub(1);
        let at = line.char_indices().nth(column).map_or(0, |(at, _)| at);
        Some(start + at..start + at + 1)
    });
    let span = span.filter(|span| text.get(span.clone()).is_some());
    print_error(&format!("{:?}", excerpt::report(diagnostic, span, None, file, &text)));
    let hint = "docs/k6.md says what of k6 is supported";
    Failure::hinted(exit, format!("{name} cannot be run"), hint)
}
