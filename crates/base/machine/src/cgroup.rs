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
        Cgroup { root: root.to_owned(), path: path.trim_matches('/').to_owned() }
    }

    /// The mount point of the hierarchy.
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

/// The folders of this process's own control group of `controller` and of those around it, as far as they are
/// mounted here.
pub(crate) fn own_folders(controller: &str) -> Vec<PathBuf> {
    let read = |name: &str| procfs::read(name).unwrap_or_default();
    folders(&read("self/mountinfo"), &read("self/cgroup"), controller)
}

/// From the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`: of the controller's own hierarchy if it has one
/// (version 1), else of the one without controllers (version 2), which may be mounted beside others (hybrid).
pub(crate) fn folders(mounts: &str, own: &str, controller: &str) -> Vec<PathBuf> {
    // Lines are `number:controllers:path`.
    let lines = own.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        Some((controllers, path))
    });
    let has = |list: &str| list.split(',').any(|name| name == controller);
    let version_1 = lines.clone().find(|(controllers, _)| has(controllers));
    let version_2 = lines.clone().find(|(controllers, _)| controllers.is_empty());
    let of = |found: Option<(&str, &str)>, is_mounted: &dyn Fn(&Mount<'_>) -> bool| {
        let (_, path) = found?;
        let all = mounts.lines().filter_map(Mount::parse);
        let all: Vec<Mount<'_>> = all.filter(is_mounted).collect();
        // One that shows this group, else one that shows a group around it.
        let shows = |mount: &&Mount<'_>| mount.below(path).is_some();
        let mount = all.iter().find(shows).or(all.first())?;
        let place = unescaped(mount.place);
        let folder = match mount.below(path).unwrap_or_default() {
            "" => place.clone(),
            inside => place.join(inside),
        };
        let up = folder.ancestors().map(Path::to_owned);
        Some(up.take_while(|folder| folder.starts_with(&place)).collect())
    };
    let found = of(version_1, &|mount| mount.kind == "cgroup" && has(mount.options));
    let found = found.or_else(|| of(version_2, &|mount| mount.kind == "cgroup2"));
    found.unwrap_or_default()
}

/// A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
struct Mount<'t> {
    /// The group that is seen at `place`.
    root: &'t str,
    place: &'t str,
    /// `cgroup`, `cgroup2`.
    kind: &'t str,
    /// Mount options of the file system: the controllers are among them.
    options: &'t str,
}

impl<'t> Mount<'t> {
    fn parse(line: &'t str) -> Option<Mount<'t>> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Mount {
            root: mount.next()?,
            place: mount.next()?,
            kind: system.next()?,
            options: system.nth(1)?,
        })
    }

    /// A group's path below the one that is seen here; `None`: it is not within. In a container the path may be that on
    /// the host, and the container's own group is what is mounted.
    fn below(&self, path: &'t str) -> Option<&'t str> {
        let rest = path.strip_prefix(self.root.trim_end_matches('/'))?;
        let is_complete = rest.is_empty() || rest.starts_with('/');
        let inside = rest.trim_start_matches('/');
        (is_complete && !inside.split('/').any(|name| name == "..")).then_some(inside)
    }
}

/// A path of a mount: blanks and the like are written as `\040`.
fn unescaped(path: &str) -> PathBuf {
    let mut text = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        let code = after.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok());
        match code {
            Some(code) => text.push(char::from(code)),
            None => text.push('\\'),
        }
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(text + rest)
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

    const V1: &str = "\
31 23 0:28 / /groups rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /groups/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /groups/memory rw,relatime - cgroup cgroup rw,memory
";
    const V2: &str = "31 23 0:28 / /groups rw shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "41 31 0:38 / /groups/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[track_caller]
    fn check(mounts: &str, own: &str, controller: &str, expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(folders(mounts, own, controller), expected);
    }

    #[test]
    fn folders_go_up_to_the_mount() {
        let root = "/groups";
        let one = "/groups/user.slice";
        let two = "/groups/user.slice/run.scope";
        check(V2, "0::/user.slice/run.scope\n", "memory", &[two, one, root]);
        check(V2, "0::/\n", "memory", &[root]);
        let own = "5:cpuacct,cpu:/a/b\n4:memory:/old\n0::/c\n";
        let memory = "/groups/memory";
        check(V1, own, "memory", &["/groups/memory/old", memory]);
        let cpu = "/groups/cpu,cpuacct";
        let a = format!("{cpu}/a");
        let b = format!("{cpu}/a/b");
        check(V1, own, "cpu", &[&b, &a, cpu]);
        check(V1, own, "pids", &[]);
        check(V1, "", "memory", &[]);
        check("", own, "memory", &[]);
    }

    #[test]
    fn a_controller_beside_version_1_is_found_in_version_2() {
        let mounts = format!("{V1}{HYBRID}");
        let own = "4:memory:/m\n0::/u\n";
        let unified = "/groups/unified";
        check(&mounts, own, "io", &["/groups/unified/u", unified]);
        let memory = "/groups/memory";
        check(&mounts, own, "memory", &["/groups/memory/m", memory]);
    }

    #[test]
    fn in_a_container_paths_begin_at_its_own_group() {
        let mounts = "35 31 0:32 /docker/abc /groups/memory ro - cgroup cgroup rw,memory\n";
        let memory = "/groups/memory";
        check(mounts, "4:memory:/docker/abc\n", "memory", &[memory]);
        let inner = "4:memory:/docker/abc/jobs/one\n";
        let one = "/groups/memory/jobs/one";
        let jobs = "/groups/memory/jobs";
        check(mounts, inner, "memory", &[one, jobs, memory]);
        // Another's, or one whose name only begins alike: what is mounted is around this one.
        for other in ["/docker/abcd", "/elsewhere", "/docker/abc/../x"] {
            check(mounts, &format!("4:memory:{other}\n"), "memory", &[memory]);
        }
        // With a namespace of its own the path ends at its root; outside of it there are `..`.
        check(V2, "0::/../other\n", "memory", &["/groups"]);
        // Of several mounts the one that shows this group.
        let both = format!("36 31 0:32 /other /mnt rw - cgroup cgroup rw,memory\n{mounts}");
        check(&both, "4:memory:/docker/abc\n", "memory", &[memory]);
    }

    #[test]
    fn places_of_mounts_are_unescaped() {
        let mounts = r"35 31 0:32 / /my\040groups rw - cgroup2 cgroup2 rw";
        check(mounts, "0::/a\n", "memory", &["/my groups/a", "/my groups"]);
        assert_eq!(unescaped(r"/a\134b\x"), PathBuf::from(r"/a\b\x"));
    }

    #[test]
    fn throttled_time_is_read_in_both_versions() {
        assert_eq!(throttled_ns_in("usage_usec 9\nnr_throttled 2\nthrottled_usec 31\n"), 31_000);
        assert_eq!(throttled_ns_in("nr_periods 5\nthrottled_time 77\n"), 77);
        assert_eq!(throttled_ns_in("usage_usec 9\n"), 0);
    }
}
