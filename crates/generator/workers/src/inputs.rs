//! The sources of a plan: the text of its scenario, the overrides, and the environment and files that the scenario
//! reads.

use std::path::Path;

use plan::expr::Value;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// A scenario with all that it is compiled from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioText {
    /// The file's name.
    pub name: String,
    /// Exactly as it was given.
    pub text: String,
    /// `--set key=value`, in order.
    pub overrides: Vec<(String, String)>,
    /// The environment and the files that it reads.
    pub inputs: Inputs,
}

impl ScenarioText {
    /// The folder to which the names of files in the scenario are relative: that of its own file, or the current one if
    /// it came from a URL or from standard input.
    pub fn folder(&self) -> &Path {
        match self.name.contains("://") {
            true => Path::new(""),
            false => Path::new(&self.name).parent().unwrap_or(Path::new("")),
        }
    }
}

/// The values that a scenario reads besides its own text, so that it compiles to the same plan on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Inputs {
    /// Environment variables; `None`: not set.
    pub env: Vec<(String, Option<String>)>,
    /// Texts of files by name, or why they could not be read.
    pub files: Vec<(String, Result<String, String>)>,
    /// The values of the variables of its `setup`, once it has run, in serialised form.
    pub setup: Vec<u8>,
}

impl Inputs {
    /// Keeps the values of the variables of `setup`, by their slots.
    pub fn keep_setup(&mut self, values: &[Value]) {
        self.setup = postcard::to_stdvec(values).expect("values have a serialised form");
    }

    /// The values of the variables of `setup`; none before it has run.
    pub fn setup(&self) -> Result<Vec<Value>, postcard::Error> {
        match self.setup.is_empty() {
            true => Ok(Vec::new()),
            false => postcard::from_bytes(&self.setup),
        }
    }

    /// Each input in words, with a digest of its value.
    pub fn digests(&self) -> Vec<(String, String)> {
        let env = self.env.iter().map(|(name, answer)| {
            let what = format!("the environment variable {name:?}");
            (what, digest(answer))
        });
        let files = self.files.iter().map(|(name, answer)| {
            let what = format!("the file {name:?}");
            (what, digest(answer))
        });
        env.chain(files).collect()
    }
}

/// True for a text with a private key in PEM (RFC 7468 §10): it is secret.
pub fn is_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
}

/// The digest of a value's serialised form.
fn digest(value: &impl Serialize) -> String {
    let bytes = postcard::to_stdvec(value).expect("texts have a serialised form");
    hex_digest(&bytes)
}

/// Hexadecimal SHA-1.
pub fn hex_digest(bytes: &(impl AsRef<[u8]> + ?Sized)) -> String {
    units::hex(&Sha1::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_relative_to_the_scenario() {
        for (name, folder) in [
            ("load/a.yaml", "load"),
            ("/load/a.yaml", "/load"),
            ("a.yaml", ""),
            ("-", ""),
            ("https://example.org/a/b", ""),
        ] {
            let scenario = ScenarioText { name: name.to_owned(), ..ScenarioText::default() };
            assert_eq!(scenario.folder(), Path::new(folder), "{name}");
        }
    }
}
