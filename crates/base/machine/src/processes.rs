//! Processes and what they started.

use std::fs;

use crate::procfs;

/// A process and all that descend from it, parents first. Those that end meanwhile are left out.
pub fn family(pid: u32) -> Vec<u32> {
    let parents = parents();
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        family.extend(children.map(|(child, _)| *child));
        at += 1;
    }
    family
}

/// The lowest number of a file that a process does not have open: the kernel gives its next file that number. `None`: the
/// process cannot be seen.
pub fn lowest_free_file(pid: u32) -> Option<u64> {
    let mut open: Vec<u64> = procfs::files(pid)?.collect();
    open.sort_unstable();
    let gap = (0..).zip(&open).find(|(number, file)| number != *file);
    Some(gap.map_or(open.len() as u64, |(number, _)| number))
}

/// How many files a process may have open, and up to how many it may raise that itself. `None`: the process cannot be
/// seen, or nothing limits it.
pub fn file_limits(pid: u32) -> Option<(u64, u64)> {
    let text = procfs::read(&format!("{pid}/limits")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut words = line.split_ascii_whitespace();
    Some((procfs::number(words.next())?, procfs::number(words.next())?))
}

/// Each process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir(procfs::PROCESSES) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = names.filter_map(|name| name.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let stat = procfs::read(&format!("{pid}/stat")).ok()?;
        // The name may have blanks and brackets; what follows its last bracket has none.
        let fields = stat.rsplit_once(')')?.1;
        let parent = fields.split_ascii_whitespace().nth(1)?;
        Some((pid, parent.parse().ok()?))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_next_file_gets_the_lowest_free_number() {
        let mut sleeper = Command::new("sh");
        // 3 and 5 are open; 4 is free, whatever we inherited.
        sleeper.args(["-c", "exec 3</dev/null 4<&- 5</dev/null; echo; exec sleep 60"]);
        let mut sleeper = sleeper.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = [0];
        std::io::Read::read_exact(sleeper.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(lowest_free_file(sleeper.id()), Some(4));
        let (soft, hard) = file_limits(sleeper.id()).unwrap();
        assert!(soft >= 64 && soft <= hard);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(lowest_free_file(u32::MAX), None);
    }

    #[test]
    fn a_family_has_the_children_of_children() {
        let mut shell =
            Command::new("sh").args(["-c", "sh -c 'sleep 60 & wait' & wait"]).spawn().unwrap();
        let family = loop {
            let family = family(shell.id());
            if family.len() == 3 {
                break family;
            }
        };
        assert_eq!(family[0], shell.id());
        for pid in family.iter().rev() {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        }
        shell.wait().unwrap();
    }
}
