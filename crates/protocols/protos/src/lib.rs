//! Compiles .proto files to the schema that calls of gRPC need, and writes such files from descriptors.
//!
//! The files' texts are handed in by a function; nothing is opened. [`compile`] finds each file below one of some
//! folders, follows its imports, and says where something is wrong. The parser is protox, with which
//! `google/protobuf/*.proto` come; prost-reflect links the files. It gets them without the places of their parts: it looks
//! for the place of each error and of each option among all of them, which takes quadratic time.

mod load;
mod place;
pub mod reflection;
mod source;
mod translate;

use grpc::Schema;
use prost_reflect::{DescriptorError, DescriptorPool};

use load::{LoadedFile, load};
use place::Places;
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
    let mut pool = DescriptorPool::new();
    for LoadedFile { descriptor, places } in load(names, sources)? {
        let name = descriptor.name().to_owned();
        let added = pool.add_file_descriptor_proto(descriptor);
        added.map_err(|error| problem(name, &places, &error))?;
    }
    Ok(translate::schema(&pool))
}

/// The problem of the file of this name that the first of its errors describes.
fn problem(file: String, places: &Places, error: &DescriptorError) -> Problem {
    let place = error.path().and_then(|path| places.of(path));
    Problem { file, place, message: error.to_string() }
}

#[cfg(test)]
mod tests;
