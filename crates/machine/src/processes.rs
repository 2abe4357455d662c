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
    fn a_family_has_the_children_of_children() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 60 & wait' & wait"])
            .spawn()
            .unwrap();
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
