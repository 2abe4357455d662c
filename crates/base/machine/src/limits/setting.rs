//! A kernel setting that is too low, and how it is raised.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::procfs::SETTINGS;

/// A setting to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Name in sysctl(8).
    pub key: &'static str,
    pub now: Vec<u64>,
    pub wanted: Vec<u64>,
}

/// Why a setting was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error("cannot set {key}: permission denied; run the command as root")]
    NotRoot { key: &'static str },
    #[error("cannot set {key}: cannot write to {}", path.display())]
    Write {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{key} was set, but the kernel changed the value to {now}")]
    Changed { key: &'static str, now: String },
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = numbers(&self.now);
        let wanted = numbers(&self.wanted);
        write!(f, "{}: {now} → {wanted}", self.key)
    }
}

impl Setting {
    /// The command that changes it.
    pub fn command(&self) -> String {
        match &self.wanted[..] {
            [one] => format!("sysctl -w {}={one}", self.key),
            _ => format!("sysctl -w {}='{}'", self.key, numbers(&self.wanted)),
        }
    }

    /// Changes it on this machine.
    pub fn apply(&self) -> Result<(), SetError> {
        self.apply_below(Path::new(SETTINGS))
    }

    /// Changes it in the tree of settings at `root`.
    fn apply_below(&self, root: &Path) -> Result<(), SetError> {
        let key = self.key;
        let path = root.join(key.replace('.', "/"));
        let write = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied => SetError::NotRoot { key },
            _ => SetError::Write { key, path: path.clone(), source },
        };
        // A setting that does not exist must not become a file.
        let file = fs::OpenOptions::new().write(true).open(&path);
        let mut file = file.map_err(write)?;
        io::Write::write_all(&mut file, numbers(&self.wanted).as_bytes()).map_err(write)?;
        let now = fs::read_to_string(&path).map_err(write)?;
        if now.split_ascii_whitespace().eq(numbers(&self.wanted).split(' ')) {
            return Ok(());
        }
        Err(SetError::Changed { key, now: now.trim().to_owned() })
    }
}

/// Numbers as the kernel writes them.
pub(super) fn numbers(values: &[u64]) -> String {
    let words: Vec<String> = values.iter().map(u64::to_string).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(wanted: &[u64]) -> Setting {
        Setting { key: "net.ipv4.tcp_mem", now: vec![1, 2, 3], wanted: wanted.to_vec() }
    }

    #[test]
    fn commands_can_be_pasted() {
        let several = setting(&[10, 20, 30]).command();
        assert_eq!(several, "sysctl -w net.ipv4.tcp_mem='10 20 30'");
        assert_eq!(setting(&[7]).command(), "sysctl -w net.ipv4.tcp_mem=7");
        let change = setting(&[10, 20, 30]).to_string();
        assert_eq!(change, "net.ipv4.tcp_mem: 1 2 3 → 10 20 30");
    }

    #[test]
    fn an_existing_setting_is_written_and_no_file_is_made() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("net/ipv4");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("tcp_mem");
        let missing = setting(&[10, 20, 30]).apply_below(root.path()).unwrap_err();
        assert!(missing.to_string().contains("cannot set net.ipv4.tcp_mem"));
        assert!(!file.exists());
        fs::write(&file, "").unwrap();
        setting(&[10, 20, 30]).apply_below(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "10 20 30");
        // A kernel that changes the value: here the rest of the old text is left.
        let changed = setting(&[7]).apply_below(root.path()).unwrap_err();
        assert!(matches!(changed, SetError::Changed { .. }), "{changed}");
    }
}
