//! Finds files and all that they import, before anything is compiled.

use std::collections::BTreeSet;

use prost_reflect::prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};
use protox::file::{File, FileResolver, GoogleFileResolver};

use crate::place::{self, Places};
use crate::{Problem, Sources};

/// Most files.
const FILES_MAX: usize = 1000;
/// Largest sum of their texts, bytes.
const BYTES_MAX: usize = 16 << 20;
/// Braces within braces: the compiler's parser calls itself for each.
const DEPTH_MAX: usize = 64;
/// Most comparisons of fields with numbers and names that a message reserves: each is compared with each.
const COMPARISONS_MAX: usize = 100_000_000;
/// How the names of files begin that come with the compiler.
const BUILT_IN: &str = "google/protobuf/";

/// A file without the places of its parts, and these.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    pub(crate) descriptor: FileDescriptorProto,
    pub(crate) places: Places,
}

impl LoadedFile {
    fn new(file: &File) -> LoadedFile {
        let mut descriptor = file.file_descriptor_proto().clone();
        let places = Places::new(descriptor.source_code_info.take());
        LoadedFile { descriptor, places }
    }
}

/// Files, each behind those that it imports.
#[derive(Debug, Default)]
struct LoadedFiles {
    files: Vec<LoadedFile>,
    /// Names of files that were read, or are being read.
    names: BTreeSet<String>,
    bytes: usize,
    reserved: ReservedCounts,
}

/// Fields and reserved numbers and names, which the compiler compares with each other.
#[derive(Debug, Default)]
struct ReservedCounts {
    /// Fields, extensions and values of enumerations.
    parts: usize,
    /// Ranges and names that one message or enumeration reserves.
    most: usize,
}

/// An import: the file that has it, the places of that file's parts, and its number among the imports there.
struct Import<'f> {
    by: &'f str,
    places: &'f Places,
    number: usize,
}

impl Import<'_> {
    /// Looked for among all parts of the file, so only for a problem.
    fn place(&self) -> Option<(usize, usize)> {
        // The field `dependency` of a file is its third.
        self.places.of(&[3, self.number as i32])
    }
}

/// Loads these files and their imports, each behind those that it imports.
pub(crate) fn load(names: &[String], sources: &Sources<'_>) -> Result<Vec<LoadedFile>, Problem> {
    let mut loaded = LoadedFiles::default();
    for name in names {
        let mut way = Vec::new();
        follow(&mut loaded, name, None, &mut way, sources)?;
    }
    Ok(loaded.files)
}

/// Loads a file and what it imports. `way`: the files that led to it, each imported by the one before.
fn follow(
    loaded: &mut LoadedFiles,
    name: &str,
    import: Option<&Import<'_>>,
    way: &mut Vec<String>,
    sources: &Sources<'_>,
) -> Result<(), Problem> {
    if let Some(first) = way.iter().position(|own| own == name) {
        let cycle: Vec<&str> = way[first..].iter().map(String::as_str).collect();
        let message = format!("imports in a cycle: {} -> {name}", cycle.join(" -> "));
        return Err(blame(name, import, message));
    }
    if loaded.names.contains(name) {
        return Ok(());
    }
    let file = match find(name, sources) {
        Ok(text) => {
            loaded.bytes += text.len();
            if loaded.names.len() == FILES_MAX || loaded.bytes > BYTES_MAX {
                let message =
                    format!("more than {FILES_MAX} files, or than {} MiB", BYTES_MAX >> 20);
                return Err(blame(name, import, message));
            }
            parsed(name, &text)?
        }
        Err(reason) => match built_in(name) {
            Some(file) => file,
            None => {
                let message = match import {
                    Some(_) => format!("the import {name:?} cannot be read: {reason}"),
                    None => reason,
                };
                return Err(blame(name, import, message));
            }
        },
    };
    loaded.reserved.add(&file.descriptor);
    if loaded.reserved.comparisons() > COMPARISONS_MAX {
        let message = "too many fields, and too many numbers and names that are reserved";
        return Err(blame(name, import, message.to_owned()));
    }
    loaded.names.insert(name.to_owned());
    way.push(name.to_owned());
    let mut seen = BTreeSet::new();
    for (number, imported) in file.descriptor.dependency.iter().enumerate() {
        let import = Import { by: name, places: &file.places, number };
        if !seen.insert(imported) {
            let message = format!("import '{imported}' was listed twice");
            return Err(blame(name, Some(&import), message));
        }
        follow(loaded, imported, Some(&import), way, sources)?;
    }
    way.pop();
    loaded.files.push(file);
    Ok(())
}

/// A file that comes with the parser.
fn built_in(name: &str) -> Option<LoadedFile> {
    let is_known = name.starts_with(BUILT_IN);
    let file = is_known.then(|| GoogleFileResolver::new().open_file(name).ok())??;
    Some(LoadedFile::new(&file))
}

/// The problem of a file that cannot be used: that of its import, if it was imported.
fn blame(name: &str, import: Option<&Import<'_>>, message: String) -> Problem {
    match import {
        Some(import) => Problem { file: import.by.to_owned(), place: import.place(), message },
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

fn parsed(name: &str, text: &str) -> Result<LoadedFile, Problem> {
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
    Ok(LoadedFile::new(&file))
}

impl ReservedCounts {
    fn add(&mut self, file: &FileDescriptorProto) {
        self.parts += file.extension.len();
        file.message_type.iter().for_each(|own| self.add_message(own));
        file.enum_type.iter().for_each(|own| self.add_enumeration(own));
    }

    /// Messages are nested no deeper than braces may be.
    fn add_message(&mut self, own: &DescriptorProto) {
        self.parts += own.field.len() + own.extension.len();
        let ranges = own.reserved_range.len() + own.extension_range.len();
        self.most = self.most.max(ranges + own.reserved_name.len());
        own.nested_type.iter().for_each(|own| self.add_message(own));
        own.enum_type.iter().for_each(|own| self.add_enumeration(own));
    }

    fn add_enumeration(&mut self, own: &EnumDescriptorProto) {
        self.parts += own.value.len();
        self.most = self.most.max(own.reserved_range.len() + own.reserved_name.len());
    }

    fn comparisons(&self) -> usize {
        self.parts.saturating_mul(self.most)
    }
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
