//! Faults that are at work: what they do to links and instances, and how it is undone.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use wan::link::DELAY_NS_MAX;
use wan::{Link, Loss, Rate};

use crate::error::SystemError;
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
        match fault {
            Fault::Partition(..) | Fault::Degrade { .. } => set_links(&inner.active, system)?,
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
                if let Some(active) = inner.active.last_mut() {
                    active.files = files;
                }
            }
            Fault::SkewClock(instances, by_ns) => {
                each_folder(system, instances, |folder| shortage::skew(folder, *by_ns))?;
            }
        }
        Ok(number)
    }

    /// Ends a fault; false: it has ended already, or never began.
    pub(crate) fn end(&self, number: u32, system: &System) -> Result<bool, SystemError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let active = &inner.active;
        let Some(at) = active.iter().position(|active| active.number == number) else {
            return Ok(false);
        };
        let Active { fault, files, .. } = inner.active.remove(at);
        match &fault {
            Fault::Kill(instances) => each(system, instances, Instance::revive),
            Fault::Freeze(instances) => each(system, instances, Instance::thaw),
            Fault::Partition(..) | Fault::Degrade { .. } => set_links(&inner.active, system)?,
            Fault::Restart(_) => {}
            Fault::FillDisk(instances) => each_folder(system, instances, shortage::empty)?,
            Fault::ExhaustFiles(_) => files.into_iter().for_each(shortage::restore_files),
            Fault::SkewClock(instances, _) => {
                each_folder(system, instances, |folder| shortage::skew(folder, 0))?;
            }
        }
        let text = describe(&fault, &system.directory.file);
        system.events.add_fault(number, false, text);
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

fn each(system: &System, instances: &Instances, what: fn(&Instance)) {
    system.site.each(instances, |instance, _| what(instance));
}

/// Something is done in the directory of each instance; the first error ends it.
fn each_folder(
    system: &System,
    instances: &Instances,
    what: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), SystemError> {
    let mut done = Ok(());
    system.site.each(instances, |instance, folder| {
        if done.is_ok() {
            done = what(&folder).map_err(|source| SystemError::Io {
                what: format!("let a fault befall {}", instance.name),
                source,
            });
        }
    });
    done
}

/// Sets all links to what the file and the faults at work make of them.
fn set_links(active: &[Active], system: &System) -> Result<(), SystemError> {
    let file = &system.directory.file;
    let places = file.regions.len() + 1;
    let links = layout::links(file);
    for from in 0..file.regions.len() {
        for to in 0..file.regions.len() {
            let mut link = links[from * places + to];
            for Active { fault, .. } in active {
                change(&mut link, fault, from, to);
            }
            // What faults add is cut at the longest link that the machine may wait for.
            link.delay_ns = link.delay_ns.min(DELAY_NS_MAX / u64::from(file.dilation));
            let link = link.stretched(file.dilation);
            system.forwarder.set_link(from as u16, to as u16, link)?;
        }
    }
    Ok(())
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
}
