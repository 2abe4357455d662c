//! Effects of faults on links, and faults in words.

use crate::wan::link::DELAY_NS_MAX;
use crate::wan::{Link, Loss, Rate, WanError};

use super::{Fault, Instances, LabFile};

/// All links between regions with these faults, as the machine is to emulate them.
pub(crate) fn links_with(
    file: &LabFile,
    faults: &[&Fault],
) -> Result<Vec<(u16, u16, Link)>, WanError> {
    let regions = file.regions.len();
    let mut all = Vec::new();
    for from in 0..regions {
        for to in 0..regions {
            let mut link = file.links[from * regions + to];
            for fault in faults {
                change(&mut link, fault, from, to);
            }
            // What faults add is cut at the longest link that the machine may wait for.
            link.delay_ns = link.delay_ns.min(DELAY_NS_MAX / u64::from(file.dilation));
            let link = link.stretched(file.dilation);
            let from = from as u16;
            let to = to as u16;
            link.check().map_err(|source| WanError::Link { from, to, source })?;
            all.push((from, to, link));
        }
    }
    Ok(all)
}

/// Applies a fault to the link from one region to another.
fn change(link: &mut Link, fault: &Fault, from: usize, to: usize) {
    let between = |a: &[usize], b: &[usize]| {
        a.contains(&from) && b.contains(&to) || a.contains(&to) && b.contains(&from)
    };
    match fault {
        Fault::Partition(a, b) if between(a, b) => link.cut = true,
        Fault::Degrade { a, b, delay_ns, loss, rate_bits } if between(a, b) => {
            link.delay_ns = link.delay_ns.saturating_add(*delay_ns);
            if let Some(p) = *loss {
                link.loss = Loss::Independent { p };
            }
            if let Some(bits_per_s) = *rate_bits {
                let backlog =
                    link.rate.map_or(crate::wan::Backlog::Time(100_000_000), |rate| rate.backlog);
                link.rate = Some(Rate { bits_per_s, backlog });
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
                let hosts = instances.hosts.iter().map(|host| file.hosts[*host].name.as_str());
                format!("{} on {}", service.name, hosts.collect::<Vec<_>>().join(", "))
            }
        }
    };
    match fault {
        Fault::Partition(a, b) => format!("partition: {} from {}", regions(a), regions(b)),
        Fault::Degrade { a, b, delay_ns, loss, rate_bits } => {
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
            (link.cut, link.delay_ns, link.loss == Loss::None, link.rate.is_some())
        };
        assert_eq!(link(0, 1), (true, 15, false, true));
        assert_eq!(link(1, 0), (true, 15, false, true));
        assert_eq!(link(2, 0), (true, 10, true, false));
        assert_eq!(link(1, 2), (false, 10, true, false));
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
            let (file, found) = crate::file::lab(scenario::document::Source { name, text });
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
