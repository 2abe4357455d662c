//! `.proto` files are compiled to the schema of calls, unless this program was built without that.

use grpc::Schema;

/// Reads a file by its path from the scenario's directory; the error says why it cannot be read.
type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Why there is no schema.
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) hint: &'static str,
}

/// Compiles these files, which are sought in these folders.
#[cfg(feature = "full")]
pub(super) fn compile(
    names: &[String],
    folders: &[String],
    read: Read<'_>,
) -> Result<Schema, Problem> {
    protos::compile(names, &protos::Sources { folders, read }).map_err(|problem| {
        let at = problem.place.map(|(line, column)| format!(":{line}:{column}"));
        let at = at.unwrap_or_default();
        Problem {
            message: format!("{}{at}: {}", problem.file, problem.message),
            hint: "files and imports are sought below `import_paths`",
        }
    })
}

/// Nothing can be compiled.
#[cfg(not(feature = "full"))]
pub(super) fn compile(_: &[String], _: &[String], _: Read<'_>) -> Result<Schema, Problem> {
    Err(Problem {
        message: "this program was built without gRPC".to_owned(),
        hint: "build it with its default features",
    })
}
