//! Compiles .proto files to the schema that calls of gRPC need, and writes such files from descriptors.
//!
//! The files' texts are handed in by a function; nothing is opened. [`compile`] finds each file below one of some
//! folders, follows its imports, and says where something is wrong. The compiler is protox; `google/protobuf/*.proto`
//! come with it.

mod load;
mod place;
pub mod reflection;
mod source;
mod translate;

use grpc::Schema;
use protox::Compiler;
use protox::file::{ChainFileResolver, GoogleFileResolver};

use load::{LoadedFiles, load};
pub use source::{Source, Unprintable, source};

/// A problem of a file, and its place as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file's name as it is imported.
    pub file: String,
    /// Line and column, from 1.
    pub place: Option<(usize, usize)>,
    /// In words.
    pub message: String,
}

/// The sources of files.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Folders in which imports are sought, in this order; each empty or with `/` at its end.
    pub folders: &'a [String],
    /// The text of a file, or why it cannot be read.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Compiles these files with all that they import.
///
/// # Errors
/// The first thing that is wrong.
pub fn compile(names: &[String], sources: &Sources<'_>) -> Result<Schema, Problem> {
    let loaded = load(names, sources)?;
    let mut resolver = ChainFileResolver::new();
    resolver.add(loaded.resolver());
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    for name in names {
        let added = compiler.open_file(name);
        added.map(|_| ()).map_err(|error| problem(&loaded, name, &error))?;
    }
    Ok(translate::schema(&compiler.descriptor_pool()))
}

/// The problem that a compiler's error describes.
fn problem(loaded: &LoadedFiles, name: &str, error: &protox::Error) -> Problem {
    let file = error.file().unwrap_or(name).to_owned();
    let place = loaded.text(&file).and_then(|text| place::of_error(error, text));
    Problem { file, place, message: place::message(error) }
}

#[cfg(test)]
mod tests;
