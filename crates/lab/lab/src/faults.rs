//! Faults that are at work: what they do to links and instances, and how it is undone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{SystemError, io_error};
use crate::file::{Fault, Instances, LabFile, describe, links_with};
use crate::instance::Instance;
use crate::shortage::{self, FileLimits};
use crate::system::System;

/// Faults that have begun and not ended.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u32,
    active: Vec<Active>,
}

/// A fault that has begun.
#[derive(Debug)]
struct Active {
    number: u32,
    fault: Fault,
    /// Limits on open files that it has changed.
    files: Vec<FileLimits>,
}

impl Faults {
    /// Begins a fault; its number ends it.
    pub(crate) fn begin(&self, fault: &Fault, system: &System) -> Result<u32, SystemError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut active = inner.active.iter();
        if let Some(other) = active.find(|active| active.fault.collides_with(fault)) {
            return Err(SystemError::Collides(other.number));
        }
        inner.next += 1;
        let number = inner.next;
        let text = describe(fault, &system.directory.file);
        // The event comes first: what the fault causes follows it.
        system.events.add_fault(number, true, text);
        inner.active.push(Active { number, fault: fault.clone(), files: Vec::new() });
        if let Err(error) = cause(&mut inner.active, system) {
            // What has happened of it does not stay. What cannot be undone is still at work, and can be repaired.
            let last = inner.active.len() - 1;
            let _ = inner.finish(last, system);
            return Err(error);
        }
        Ok(number)
    }

    /// Ends a fault; false: it has ended already, or never began. One that cannot be undone is still at work.
    pub(crate) fn end(&self, number: u32, system: &System) -> Result<bool, SystemError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let active = &inner.active;
        let Some(at) = active.iter().position(|active| active.number == number) else {
            return Ok(false);
        };
        inner.finish(at, system)?;
        Ok(true)
    }

    /// Numbers and texts.
    pub(crate) fn active(&self, file: &LabFile) -> Vec<(u32, String)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let active = inner.active.iter();
        active.map(|active| (active.number, describe(&active.fault, file))).collect()
    }
}

impl Inner {
    /// Undoes an active fault, and says so.
    fn finish(&mut self, at: usize, system: &System) -> Result<(), SystemError> {
        let active = self.active.remove(at);
        if let Err(error) = undo(&active, &self.active, system) {
            self.active.insert(at, active);
            return Err(error);
        }
        let text = describe(&active.fault, &system.directory.file);
        system.events.add_fault(active.number, false, text);
        Ok(())
    }
}

/// Does what the last of the active faults is.
fn cause(active: &mut [Active], system: &System) -> Result<(), SystemError> {
    let Some((last, _)) = active.split_last_mut() else {
        return Ok(());
    };
    match &last.fault {
        Fault::Partition(..) | Fault::Degrade { .. } => set_links(active.iter(), system)?,
        Fault::Kill(instances) => each(system, instances, Instance::kill),
        Fault::Freeze(instances) => each(system, instances, Instance::freeze),
        Fault::Restart(instances) => each(system, instances, Instance::restart),
        Fault::FillDisk(instances) => each_folder(system, instances, shortage::fill)?,
        Fault::ExhaustFiles(instances) => {
            let mut files = Vec::new();
            system.site.each(instances, |instance, _| {
                let pid = instance.seen().get().pid;
                files.extend(pid.into_iter().flat_map(shortage::exhaust_files));
            });
            last.files = files;
        }
        Fault::SkewClock(instances, by_ns) => {
            each_folder(system, instances, |folder| shortage::skew(folder, *by_ns))?;
        }
    }
    Ok(())
}

/// Undoes a fault; `others` are still at work.
fn undo(active: &Active, others: &[Active], system: &System) -> Result<(), SystemError> {
    match &active.fault {
        Fault::Kill(instances) => each(system, instances, Instance::revive),
        Fault::Freeze(instances) => each(system, instances, Instance::thaw),
        Fault::Partition(..) | Fault::Degrade { .. } => set_links(others.iter(), system)?,
        Fault::Restart(_) => {}
        Fault::FillDisk(instances) => each_folder(system, instances, shortage::empty)?,
        Fault::ExhaustFiles(_) => active.files.iter().for_each(shortage::restore_files),
        Fault::SkewClock(instances, _) => each_folder(system, instances, shortage::set_right)?,
    }
    Ok(())
}

fn each(system: &System, instances: &Instances, what: fn(&Instance)) {
    system.site.each(instances, |instance, _| what(instance));
}

/// Something is done in the directory of each instance.
fn each_folder(
    system: &System,
    instances: &Instances,
    what: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), SystemError> {
    let mut folders = Vec::new();
    system.site.each(instances, |instance, folder| {
        folders.push((instance.name.clone(), folder));
    });
    in_folders(&folders, what)
}

/// In all of them, by the names of their instances, also if it fails in some; the first error.
fn in_folders(
    folders: &[(String, PathBuf)],
    what: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), SystemError> {
    let mut done = Ok(());
    for (name, folder) in folders {
        let here = what(folder).map_err(io_error(format!("let a fault befall {name}")));
        done = done.and(here);
    }
    done
}

/// Sets all links to what the file and the faults at work make of them, or none.
fn set_links<'a>(
    active: impl Iterator<Item = &'a Active>,
    system: &System,
) -> Result<(), SystemError> {
    let file = &system.directory.file;
    let faults: Vec<&Fault> = active.map(|active| &active.fault).collect();
    let links = links_with(file, &faults).map_err(SystemError::Wan)?;
    for (from, to, link) in links {
        system.network.set_link(from, to, link)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_in_one_folder_happens_in_the_others() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| (name.to_owned(), root.path().join(name));
        let folders = ["gone", "a", "b", "lost"].map(folder);
        for (_, path) in &folders[1..3] {
            std::fs::create_dir(path).unwrap();
        }
        let failed = in_folders(&folders, |folder| shortage::skew(folder, 5)).unwrap_err();
        assert_eq!(failed.to_string(), "cannot let a fault befall gone");
        for (_, path) in &folders[1..3] {
            assert!(shortage::skew_file(path).exists());
        }
        assert!(in_folders(&folders, shortage::set_right).is_ok());
    }
}
