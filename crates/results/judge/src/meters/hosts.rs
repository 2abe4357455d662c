//! Resources that the hosts of a lab used during a run, by host.

use std::collections::BTreeMap;

use super::Subject;
use super::inputs::{is_of_family, is_of_hosts, label};

/// The resources that a host used on average while load was planned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostResources {
    /// The host's name.
    pub host: String,
    /// Name of the host's region.
    pub region: String,
    /// Cores that it may use; `None`: all of the machine's.
    pub cores: Option<f64>,
    /// Cores in use.
    pub cpu: Option<f64>,
    /// Memory in use, in bytes.
    pub memory: Option<f64>,
    /// Read from disks, in bytes per second.
    pub disk_read: Option<f64>,
    /// Written to disks, in bytes per second.
    pub disk_written: Option<f64>,
    /// Sent to other hosts and to users, in bytes per second.
    pub sent: Option<f64>,
    /// Received from them, in bytes per second.
    pub received: Option<f64>,
}

impl HostResources {
    /// The place of a metric's value.
    fn value(&mut self, metric: &str) -> Option<&mut Option<f64>> {
        let is = |name| is_of_family(metric, name);
        Some(match metric {
            _ if is("lab_host_cores") => &mut self.cores,
            _ if is("lab_host_cpu_seconds_total") => &mut self.cpu,
            _ if is("lab_host_memory_bytes") => &mut self.memory,
            _ if is("lab_host_disk_read_bytes_total") => &mut self.disk_read,
            _ if is("lab_host_disk_written_bytes_total") => &mut self.disk_written,
            _ if is("lab_host_sent_bytes_total") => &mut self.sent,
            _ if is("lab_host_received_bytes_total") => &mut self.received,
            _ => return None,
        })
    }
}

/// The hosts of the run's system, in the order of their names; none if it was no run in a lab.
pub(super) fn resources(run: &Subject) -> Vec<HostResources> {
    let mut sums: Vec<(f64, u32)> = vec![(0.0, 0); run.probes.list.len()];
    let end_ns = run.figures.planned_end_ns().cast_signed();
    let rows = run.probes.rows.iter().filter(|row| (0..=end_ns).contains(&row.at_ns));
    for row in rows {
        if let Some((sum, count)) = sums.get_mut(row.probe as usize) {
            *sum += row.value;
            *count += 1;
        }
    }
    let mut hosts: BTreeMap<&str, HostResources> = BTreeMap::new();
    let probes = run.probes.list.iter().zip(sums).filter(|(_, (_, count))| *count > 0);
    for (probe, (sum, count)) in probes.filter(|(probe, _)| is_of_hosts(&probe.metric, &run.hosts))
    {
        let metric = probe.metric.as_str();
        let [Some(host), Some(region)] = ["host", "region"].map(|name| label(metric, name)) else {
            continue;
        };
        let found = hosts.entry(host).or_default();
        if let Some(value) = found.value(metric) {
            *value = Some(sum / f64::from(count));
            host.clone_into(&mut found.host);
            region.clone_into(&mut found.region);
        }
    }
    hosts.into_values().filter(|found| !found.host.is_empty()).collect()
}
