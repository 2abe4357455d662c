//! Finds files and all that they import, before anything is compiled.

use std::collections::BTreeMap;

use protox::Error;
use protox::file::{File, FileResolver};

use crate::{Problem, Sources, place};

/// Most files.
const FILES_MAX: usize = 1000;
/// Largest sum of their texts, bytes.
const BYTES_MAX: usize = 16 << 20;
/// Braces within braces: the compiler's parser calls itself for each.
const DEPTH_MAX: usize = 64;
/// How the names of files begin that come with the compiler.
const BUILT_IN: &str = "google/protobuf/";

/// Files by the names that imports have for them.
#[derive(Debug, Default, Clone)]
pub(crate) struct LoadedFiles {
    texts: BTreeMap<String, String>,
    bytes: usize,
}

/// Hands the compiler what was loaded.
pub(crate) struct Resolver(BTreeMap<String, String>);

impl FileResolver for Resolver {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        match self.0.get(name) {
            Some(text) => File::from_source(name, text),
            None => Err(Error::file_not_found(name)),
        }
    }
}

impl LoadedFiles {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    pub(crate) fn resolver(&self) -> Resolver {
        Resolver(self.texts.clone())
    }
}

/// An import: the file that has it, and where.
struct Import {
    by: String,
    place: Option<(usize, usize)>,
}

/// Loads these files and their imports.
pub(crate) fn load(names: &[String], sources: &Sources<'_>) -> Result<LoadedFiles, Problem> {
    let mut loaded = LoadedFiles::default();
    for name in names {
        let mut way = Vec::new();
        follow(&mut loaded, name, None, &mut way, sources)?;
    }
    Ok(loaded)
}

/// Loads a file and what it imports. `way`: the files that led to it, each imported by the one before.
fn follow(
    loaded: &mut LoadedFiles,
    name: &str,
    import: Option<&Import>,
    way: &mut Vec<String>,
    sources: &Sources<'_>,
) -> Result<(), Problem> {
    if let Some(first) = way.iter().position(|own| own == name) {
        let cycle: Vec<&str> = way[first..].iter().map(String::as_str).collect();
        let message = format!("imports in a cycle: {} -> {name}", cycle.join(" -> "));
        return Err(blame(name, import, message));
    }
    if loaded.texts.contains_key(name) {
        return Ok(());
    }
    let text = match find(name, sources) {
        Ok(text) => text,
        Err(_) if name.starts_with(BUILT_IN) => return Ok(()),
        Err(reason) => {
            let message = match import {
                Some(_) => format!("the import {name:?} cannot be read: {reason}"),
                None => reason,
            };
            return Err(blame(name, import, message));
        }
    };
    loaded.bytes += text.len();
    if loaded.texts.len() == FILES_MAX || loaded.bytes > BYTES_MAX {
        let message = format!("more than {FILES_MAX} files, or than {} MiB", BYTES_MAX >> 20);
        return Err(blame(name, import, message));
    }
    let imports = imports_of(name, &text)?;
    loaded.texts.insert(name.to_owned(), text);
    way.push(name.to_owned());
    for (imported, place) in imports {
        let import = Import { by: name.to_owned(), place };
        follow(loaded, &imported, Some(&import), way, sources)?;
    }
    way.pop();
    Ok(())
}

/// The problem of a file that cannot be used: that of its import, if it was imported.
fn blame(name: &str, import: Option<&Import>, message: String) -> Problem {
    match import {
        Some(import) => Problem { file: import.by.clone(), place: import.place, message },
        None => Problem { file: name.to_owned(), place: None, message },
    }
}

/// The text of a file, from the first folder that has it.
fn find(name: &str, sources: &Sources<'_>) -> Result<String, String> {
    let is_inside = !name.starts_with('/') && name.split('/').all(|part| part != "..");
    if !is_inside {
        return Err("an import is a path below an import path, without `..`".to_owned());
    }
    let mut reason = "there is no import path".to_owned();
    for folder in sources.folders {
        match (sources.read)(&format!("{folder}{name}")) {
            Ok(text) => return Ok(text),
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// Names and places of a file's imports.
type Imports = Vec<(String, Option<(usize, usize)>)>;

fn imports_of(name: &str, text: &str) -> Result<Imports, Problem> {
    if let Some(offset) = too_deep(text) {
        return Err(Problem {
            file: name.to_owned(),
            place: Some(place::of_byte(text, offset)),
            message: format!(
                "more than {DEPTH_MAX} braces, brackets or parentheses within each other"
            ),
        });
    }
    let file = File::from_source(name, text).map_err(|error| Problem {
        file: name.to_owned(),
        place: place::of_error(&error, text),
        message: place::message(&error),
    })?;
    let file = file.file_descriptor_proto();
    let locations = file.source_code_info.as_ref();
    let locations = locations.map_or(&[][..], |info| &info.location);
    let place = |number: usize| {
        // The field `dependency` of a file is its third.
        let own = locations.iter().find(|found| found.path == [3, number as i32])?;
        let [line, column, ..] = own.span[..] else {
            return None;
        };
        Some((line as usize + 1, column as usize + 1))
    };
    let imports = file.dependency.iter().enumerate();
    Ok(imports.map(|(number, imported)| (imported.clone(), place(number))).collect())
}

/// The place at which a text is nested too deeply. Braces in texts and comments count as well.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth: usize = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' | b'<' => depth += 1,
            b'}' | b']' | b')' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Some(at);
        }
    }
    None
}
