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

/// The folders of this process's own control group of `controller` and of those around it.
pub(crate) fn own_folders(controller: &str) -> Vec<PathBuf> {
    let own = procfs::read("self/cgroup").unwrap_or_default();
    folders(Path::new(CGROUPS), &own, controller)
}

/// From the text of `/proc/self/cgroup`, lines `number:controllers:path`: the controller's own hierarchy where it
/// has one (version 1), else the one without controllers (version 2).
fn folders(root: &Path, own: &str, controller: &str) -> Vec<PathBuf> {
    let mut lines = own.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
        Some((controllers, path))
    });
    let has = |controllers: &str| controllers.split(',').any(|name| name == controller);
    let found = lines
        .clone()
        .find(|(controllers, _)| has(controllers))
        .map(|(_, path)| (root.join(controller), path))
        .or_else(|| {
            let (_, path) = lines.find(|(controllers, _)| controllers.is_empty())?;
            Some((root.to_owned(), path))
        });
    let Some((root, path)) = found else {
        return Vec::new();
    };
    let own = root.join(path);
    let up = own
        .ancestors()
        .take_while(|folder| folder.starts_with(&root));
    up.map(Path::to_owned).collect()
}

/// How long this process's groups were held back by a CPU limit so far.
pub(crate) fn throttled_ns() -> u64 {
    let stats = own_folders("cpu").into_iter();
    let stats = stats.filter_map(|folder| text(&folder.join("cpu.stat")).ok());
    stats.map(|stat| throttled_ns_in(&stat)).sum()
}

/// From the text of `cpu.stat`: microseconds in version 2, nanoseconds in version 1.
fn throttled_ns_in(stat: &str) -> u64 {
    let field = |name: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        let (_, value) = lines.find(|(found, _)| *found == name)?;
        value.trim().parse::<u64>().ok()
    };
    let version_2 = field("throttled_usec").map(|us| us.saturating_mul(1_000));
    version_2.or_else(|| field("throttled_time")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_up_to_the_root() {
        let root = Path::new("/g");
        let own = "4:memory:/old\n0::/user.slice/run.scope\n";
        let found = folders(root, own, "cpu");
        let expected = ["/g/user.slice/run.scope", "/g/user.slice", "/g"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(folders(root, "0::/\n", "cpu"), [PathBuf::from("/g")]);
        assert_eq!(
            folders(root, "4:memory:/old\n", "cpu"),
            Vec::<PathBuf>::new()
        );
        let own = "0::/\n4:cpu,cpuacct:/a\n";
        let expected = ["/g/cpu/a", "/g/cpu"].map(PathBuf::from);
        assert_eq!(folders(root, own, "cpu"), expected);
    }

    #[test]
    fn throttled_time_is_read_in_both_versions() {
        assert_eq!(
            throttled_ns_in("usage_usec 9\nnr_throttled 2\nthrottled_usec 31\n"),
            31_000
        );
        assert_eq!(throttled_ns_in("nr_periods 5\nthrottled_time 77\n"), 77);
        assert_eq!(throttled_ns_in("usage_usec 9\n"), 0);
    }
}
