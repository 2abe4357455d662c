//! The files of a control group, in either version of the hierarchy (cgroups(7)).

use std::path::{Path, PathBuf};

use crate::procfs::{self, CGROUPS, number, text};

/// One group by its folders: one in version 2, one a controller in version 1.
#[derive(Debug)]
pub struct Cgroup {
    root: PathBuf,
    path: String,
}

impl Cgroup {
    /// The group at `path` of this machine's hierarchy.
    pub fn new(path: &str) -> Cgroup {
        Cgroup::below(Path::new(CGROUPS), path)
    }

    /// The group at `path` of the hierarchy at `root`.
    pub fn below(root: &Path, path: &str) -> Cgroup {
        Cgroup {
            root: root.to_owned(),
            path: path.trim_matches('/').to_owned(),
        }
    }

    /// Where the hierarchy is mounted.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Without the slash it begins with.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The text of a file: of the unified hierarchy, of the one beside others, or of a controller.
    /// An empty name: there is no such file in that version.
    pub fn text(&self, unified: &str, controller: &str, file: &str) -> Option<String> {
        let folders = [
            (self.root.clone(), unified),
            (self.root.join("unified"), unified),
            (self.root.join(controller), file),
        ];
        folders.iter().find_map(|(folder, name)| {
            let file = folder.join(&self.path).join(name);
            text(&file).ok().filter(|_| !name.is_empty())
        })
    }

    /// The first number of such a file.
    pub fn number(&self, unified: &str, controller: &str, file: &str) -> Option<u64> {
        let text = self.text(unified, controller, file)?;
        number(text.split_ascii_whitespace().next())
    }
}

/// The folders of this process's own control group and of those around it.
pub(crate) fn own_folders() -> Vec<PathBuf> {
    let own = procfs::read("self/cgroup").unwrap_or_default();
    folders(Path::new(CGROUPS), &own)
}

/// From the text of `/proc/self/cgroup`: the version 2 hierarchy is the line that begins with `0::`.
fn folders(root: &Path, own: &str) -> Vec<PathBuf> {
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    let own = root.join(path);
    let up = own
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    up.map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_up_to_the_root() {
        let root = Path::new("/g");
        let own = "4:memory:/old\n0::/user.slice/run.scope\n";
        let found = folders(root, own);
        let expected = ["/g/user.slice/run.scope", "/g/user.slice", "/g"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(folders(root, "0::/\n"), [PathBuf::from("/g")]);
        assert_eq!(folders(root, "4:memory:/old\n"), Vec::<PathBuf>::new());
    }
}
