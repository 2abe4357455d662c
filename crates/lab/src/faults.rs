//! Faults that are at work: what they do to links and instances, and how it is undone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wan::link::DELAY_NS_MAX;
use wan::{Link, Loss, Rate, WanError};

use crate::error::{SystemError, io_error};
use crate::file::{Fault, Instances, LabFile};
use crate::instance::Instance;
use crate::layout;
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
        inner.active.push(Active {
            number,
            fault: fault.clone(),
            files: Vec::new(),
        });
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
        active
            .map(|active| (active.number, describe(&active.fault, file)))
            .collect()
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
        system.forwarder.set_link(from, to, link)?;
    }
    Ok(())
}

/// All links between regions with these faults, as the machine is to emulate them.
pub(crate) fn links_with(
    file: &LabFile,
    faults: &[&Fault],
) -> Result<Vec<(u16, u16, Link)>, WanError> {
    let places = file.regions.len() + 1;
    let links = layout::links(file);
    let mut all = Vec::new();
    for from in 0..file.regions.len() {
        for to in 0..file.regions.len() {
            let mut link = links[from * places + to];
            for fault in faults {
                change(&mut link, fault, from, to);
            }
            // What faults add is cut at the longest link that the machine may wait for.
            link.delay_ns = link.delay_ns.min(DELAY_NS_MAX / u64::from(file.dilation));
            let link = link.stretched(file.dilation);
            let (from, to) = (from as u16, to as u16);
            link.check()
                .map_err(|source| WanError::Link { from, to, source })?;
            all.push((from, to, link));
        }
    }
    Ok(all)
}

/// What a fault makes of the link from one region to another.
fn change(link: &mut Link, fault: &Fault, from: usize, to: usize) {
    let between = |a: &[usize], b: &[usize]| {
        a.contains(&from) && b.contains(&to) || a.contains(&to) && b.contains(&from)
    };
    match fault {
        Fault::Partition(a, b) if between(a, b) => link.cut = true,
        Fault::Degrade {
            a,
            b,
            delay_ns,
            loss,
            rate_bits,
        } if between(a, b) => {
            link.delay_ns = link.delay_ns.saturating_add(*delay_ns);
            if let Some(p) = *loss {
                link.loss = Loss::Independent { p };
            }
            if let Some(bits_per_s) = *rate_bits {
                let backlog = link
                    .rate
                    .map_or(wan::Backlog::Time(100_000_000), |rate| rate.backlog);
                link.rate = Some(Rate {
                    bits_per_s,
                    backlog,
                });
            }
        }
        _ => {}
    }
}

/// A fault in words.
pub fn describe(fault: &Fault, file: &LabFile) -> String {
    let regions = |numbers: &[usize]| {
        let names = numbers.iter().map(|number| file.regions[*number].as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let instances = |instances: &Instances| {
        let service = &file.services[instances.service];
        match service.hosts == instances.hosts {
            true => service.name.clone(),
            false => {
                let hosts = instances
                    .hosts
                    .iter()
                    .map(|host| file.hosts[*host].name.as_str());
                format!(
                    "{} on {}",
                    service.name,
                    hosts.collect::<Vec<_>>().join(", ")
                )
            }
        }
    };
    match fault {
        Fault::Partition(a, b) => format!("partition: {} from {}", regions(a), regions(b)),
        Fault::Degrade {
            a,
            b,
            delay_ns,
            loss,
            rate_bits,
        } => {
            let mut text = format!("degraded: {} to {}", regions(a), regions(b));
            if *delay_ns > 0 {
                text += &format!(", {} more", units::duration(*delay_ns as f64));
            }
            if let Some(loss) = loss {
                text += &format!(", {} lost", units::share(*loss));
            }
            if let Some(bits) = rate_bits {
                text += &format!(", {bits} bit/s");
            }
            text
        }
        Fault::Kill(of) => format!("killed: {}", instances(of)),
        Fault::Freeze(of) => format!("frozen: {}", instances(of)),
        Fault::Restart(of) => format!("restarted: {}", instances(of)),
        Fault::FillDisk(of) => format!("disk full: {}", instances(of)),
        Fault::ExhaustFiles(of) => format!("no further open files: {}", instances(of)),
        Fault::SkewClock(of, by_ns) => {
            let by = units::duration(by_ns.unsigned_abs() as f64);
            let side = if *by_ns < 0 { "behind" } else { "ahead" };
            format!("clock {by} {side}: {}", instances(of))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_add_up_on_a_link_and_leave_others_alone() {
        let cut = Fault::Partition(vec![0], vec![1, 2]);
        let slow = Fault::Degrade {
            a: vec![1],
            b: vec![0],
            delay_ns: 5,
            loss: Some(0.5),
            rate_bits: Some(1_000_000),
        };
        let link = |from, to| {
            let mut link = Link::new(10);
            change(&mut link, &cut, from, to);
            change(&mut link, &slow, from, to);
            (
                link.cut,
                link.delay_ns,
                link.loss == Loss::None,
                link.rate.is_some(),
            )
        };
        assert_eq!(link(0, 1), (true, 15, false, true));
        assert_eq!(link(1, 0), (true, 15, false, true));
        assert_eq!(link(2, 0), (true, 10, true, false));
        assert_eq!(link(1, 2), (false, 10, true, false));
    }

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

    #[test]
    fn what_no_link_or_host_can_be_is_refused_before_the_lab_is_up() {
        let text = "
lab: slow
regions: [near, far]
links: [ { between: [near, far], round_trip: 20ms } ]
hosts: { box: { region: near, cpus: 0.05 } }
services: { web: { on: box, run: \"throng serve hello --listen=${host}:80\", port: 80 } }
faults: [ { at: 1s, degrade: near, rate: 50kbit/s } ]
";
        let file = |text: &str| {
            let name = "lab.yaml";
            let (file, found) = crate::file::lab(document::Source { name, text });
            file.unwrap_or_else(|| panic!("{found:?}"))
        };
        let slower = file(text).dilated(20).unwrap();
        let faults: Vec<&Fault> = slower.faults.iter().map(|timed| &timed.fault).collect();
        let links = links_with(&slower, &faults).unwrap();
        assert_eq!(links.len(), 4);
        let refused = file(text).dilated(51).unwrap_err();
        assert!(refused.contains("degraded: near"), "{refused}");
        let healthy = text.split("faults").next().unwrap_or_default();
        let refused = file(healthy).dilated(51).unwrap_err();
        assert!(refused.contains("box has fewer cores"), "{refused}");
    }
}
