//! The lab's page of metrics, in Prometheus' text format: what hosts use and groups have, for the probes of a run.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Weak};
use std::time::Duration;

use httpd::{Config, Handler, Limits, Listener, Reply, Request};
use machine::group::Group;

use super::ScalerState;
use crate::site::Site;
use crate::wan::Flow;

/// Port of the page, which the host that conducts serves at `/metrics`.
const METRICS_PORT: u16 = 9170;

/// Most hosts whose use is on the page: a probe takes 2,000 metrics of it.
const HOSTS_MAX: usize = 250;

const CONFIG: Config = Config {
    limits: Limits {
        connections_max: 16,
        head: Duration::from_secs(5),
        write: Duration::from_secs(5),
    },
    name: "lab-metrics",
    stack_bytes: 256 << 10,
    headers: "",
};

/// Answers everything with the page. A lab that ends does not wait for its readers.
struct Page(Weak<ScalerState>);

impl Handler for Page {
    fn handle(&self, request: &Request<'_>) -> io::Result<()> {
        let text = self.0.upgrade().map(|shared| text(&shared));
        let reply = match &text {
            Some(text) => Reply::text(200, "", text),
            None => Reply::text(503, "", "the lab ends\n"),
        };
        reply.write(&mut request.writer())
    }
}

/// Serves it on the host that conducts.
pub(super) fn serve(shared: &Arc<ScalerState>) -> io::Result<Listener> {
    let hosts = &shared.site.hosts;
    let control = hosts.last().ok_or(io::ErrorKind::NotFound)?;
    let address = (control.plan.address, METRICS_PORT);
    let socket = control.namespace.run(|| TcpListener::bind(address))??;
    Listener::start(socket, CONFIG, Page(Arc::downgrade(shared)))
}

fn text(shared: &ScalerState) -> String {
    groups(shared) + &hosts(&shared.site, flows(shared).as_ref())
}

fn groups(shared: &ScalerState) -> String {
    let file = &shared.site.directory.file;
    let inner = shared.inner();
    let mut text = "# TYPE lab_instances gauge\n".to_owned();
    for live in &inner.groups {
        let status = live.status(file);
        let region = status.region.map(|region| format!(",region=\"{region}\""));
        let region = region.unwrap_or_default();
        for (state, count) in [
            ("desired", status.desired),
            ("running", status.running),
            ("launching", status.launching),
            ("ending", status.ending),
        ] {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "lab_instances{{service=\"{}\"{region},state=\"{state}\"}} {count}",
                status.service
            );
        }
    }
    let in_use = inner.usages.iter().filter(|usage| usage.is_in_use());
    let _ = writeln!(text, "# TYPE lab_hosts_in_use gauge\nlab_hosts_in_use {}", in_use.count());
    text
}

/// Bytes that a host has sent and received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Traffic {
    sent: u64,
    received: u64,
}

/// The traffic of each host; `None`: the network does not count it.
fn flows(shared: &ScalerState) -> Option<HashMap<Ipv4Addr, Traffic>> {
    let flows = shared.network.flows().ok().flatten()?;
    Some(traffic(&flows))
}

fn traffic(flows: &[Flow]) -> HashMap<Ipv4Addr, Traffic> {
    let mut traffic: HashMap<Ipv4Addr, Traffic> = HashMap::new();
    for flow in flows {
        traffic.entry(flow.from).or_default().sent += flow.bytes;
        traffic.entry(flow.to).or_default().received += flow.bytes;
    }
    traffic
}

/// The metrics of hosts, in the order of the page.
const HOST_METRICS: [(&str, &str); 7] = [
    ("lab_host_cores", "gauge"),
    ("lab_host_cpu_seconds_total", "counter"),
    ("lab_host_memory_bytes", "gauge"),
    ("lab_host_disk_read_bytes_total", "counter"),
    ("lab_host_disk_written_bytes_total", "counter"),
    ("lab_host_sent_bytes_total", "counter"),
    ("lab_host_received_bytes_total", "counter"),
];

/// The resources that a host uses, in the order of [`HOST_METRICS`]; `None`: not known.
type HostValues = [Option<f64>; HOST_METRICS.len()];

/// The resources that the file's hosts use.
fn hosts(site: &Site, traffic: Option<&HashMap<Ipv4Addr, Traffic>>) -> String {
    let file = &site.directory.file;
    let described = file.hosts.iter().zip(&site.hosts).take(HOSTS_MAX).map(|(written, host)| {
        let labels = format!(
            "{{host=\"{}\",key=\"{}\",region=\"{}\"}}",
            written.name, written.group, file.regions[written.region]
        );
        let sent = traffic.map(|all| all.get(&host.plan.address).copied().unwrap_or_default());
        (labels, values(host.plan.cpus, host.group.as_ref(), sent))
    });
    let described: Vec<(String, HostValues)> = described.collect();
    let mut text = String::new();
    for (at, (name, kind)) in HOST_METRICS.into_iter().enumerate() {
        let known = described.iter().filter_map(|(labels, values)| Some((labels, values[at]?)));
        let mut known = known.peekable();
        if known.peek().is_some() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# TYPE {name} {kind}");
        }
        for (labels, value) in known {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

fn values(cores: Option<f64>, group: Option<&Group>, traffic: Option<Traffic>) -> HostValues {
    let disk = group.and_then(Group::disk);
    let number = |bytes: u64| bytes as f64;
    [
        cores,
        group.and_then(Group::cpu_ns).map(|ns| number(ns) / 1e9),
        group.and_then(Group::memory_bytes).map(number),
        disk.map(|disk| number(disk.read_bytes)),
        disk.map(|disk| number(disk.written_bytes)),
        traffic.map(|traffic| number(traffic.sent)),
        traffic.map(|traffic| number(traffic.received)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_what_it_sent_and_received() {
        let [a, b] = [1, 2].map(|last| Ipv4Addr::new(198, 18, 0, last));
        let flows = [Flow { from: a, to: b, bytes: 10 }, Flow { from: b, to: a, bytes: 4 }];
        let found = traffic(&flows);
        assert_eq!(found[&a], Traffic { sent: 10, received: 4 });
        assert_eq!(found[&b], Traffic { sent: 4, received: 10 });
    }
}
