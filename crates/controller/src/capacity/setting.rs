//! A kernel setting that is too low, and how it is raised.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A setting to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// As sysctl(8) calls it.
    pub key: &'static str,
    pub now: Vec<u64>,
    pub wanted: Vec<u64>,
}

/// Why a setting stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error("cannot set {key}: only root may; run it with sudo")]
    NotRoot { key: &'static str },
    #[error("cannot set {key}: {} does not take it", path.display())]
    Write {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{key} was set, but the kernel made {now} of it")]
    Kept { key: &'static str, now: String },
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (now, wanted) = (words(&self.now), words(&self.wanted));
        write!(f, "{}: {now} → {wanted}", self.key)
    }
}

impl Setting {
    /// The command that does it.
    pub fn command(&self) -> String {
        match &self.wanted[..] {
            [one] => format!("sysctl -w {}={one}", self.key),
            _ => format!("sysctl -w {}='{}'", self.key, words(&self.wanted)),
        }
    }

    /// Does it, in the tree of settings at `root` (`/proc/sys`).
    pub fn apply(&self, root: &Path) -> Result<(), SetError> {
        let key = self.key;
        let path = root.join(key.replace('.', "/"));
        let write = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied => SetError::NotRoot { key },
            _ => SetError::Write {
                key,
                path: path.clone(),
                source,
            },
        };
        // A setting that does not exist must not become a file.
        let file = fs::OpenOptions::new().write(true).open(&path);
        let mut file = file.map_err(write)?;
        io::Write::write_all(&mut file, words(&self.wanted).as_bytes()).map_err(write)?;
        let now = fs::read_to_string(&path).map_err(write)?;
        if now
            .split_ascii_whitespace()
            .eq(words(&self.wanted).split(' '))
        {
            return Ok(());
        }
        Err(SetError::Kept {
            key,
            now: now.trim().to_owned(),
        })
    }
}

/// Numbers as the kernel writes them.
pub(crate) fn words(numbers: &[u64]) -> String {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(wanted: &[u64]) -> Setting {
        Setting {
            key: "net.ipv4.tcp_mem",
            now: vec![1, 2, 3],
            wanted: wanted.to_vec(),
        }
    }

    #[test]
    fn commands_can_be_pasted() {
        let several = setting(&[10, 20, 30]).command();
        assert_eq!(several, "sysctl -w net.ipv4.tcp_mem='10 20 30'");
        assert_eq!(setting(&[7]).command(), "sysctl -w net.ipv4.tcp_mem=7");
        let told = setting(&[10, 20, 30]).to_string();
        assert_eq!(told, "net.ipv4.tcp_mem: 1 2 3 → 10 20 30");
    }

    #[test]
    fn a_setting_is_written_where_it_is_and_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("net/ipv4");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("tcp_mem");
        let missing = setting(&[10, 20, 30]).apply(root.path()).unwrap_err();
        assert!(missing.to_string().contains("cannot set net.ipv4.tcp_mem"));
        assert!(!file.exists());
        fs::write(&file, "").unwrap();
        setting(&[10, 20, 30]).apply(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "10 20 30");
        // A kernel that makes something else of it: here what stood behind the new text.
        let kept = setting(&[7]).apply(root.path()).unwrap_err();
        assert!(matches!(kept, SetError::Kept { .. }), "{kept}");
    }
}
