//! A lab in a few lines.

use std::fmt::Write;

use lab::LabFile;
use lab::message::{NetworkStatus, PairStatus, Status};

/// Description of a lab's file.
pub(super) fn file(lab: &LabFile) -> String {
    let regions = units::counted(lab.regions.len() as u64, "region");
    let hosts = units::counted(lab.hosts.len() as u64, "host");
    // Writing to a String cannot fail.
    let mut text = format!("{} is valid: {hosts} in {regions}\n", lab.name);
    if lab.dilation > 1 {
        let _ = writeln!(text, "  dilation: {}", lab.dilation);
    }
    for (region, name) in lab.regions.iter().enumerate() {
        let round_trips = lab.regions.iter().enumerate().map(|(other, name)| {
            let round_trip_ns = lab.round_trip_ns(region, other);
            format!("{name} {}", units::duration(round_trip_ns as f64))
        });
        let round_trips = round_trips.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "  region {name}: {round_trips}");
    }
    for host in &lab.hosts {
        let mut limits = Vec::new();
        limits.extend(host.cpus.map(|cpus| format!("{cpus} cores")));
        limits.extend(host.memory_bytes.map(units::bytes));
        let disk = host.disk_bytes.map(units::bytes);
        limits.extend(disk.map(|size| format!("a disk of {size}")));
        limits.extend(host.price.as_ref().map(|price| price.name.clone()));
        let limits = match limits.is_empty() {
            true => String::new(),
            false => format!(", {}", limits.join(", ")),
        };
        let region = &lab.regions[host.region];
        let _ = writeln!(text, "  host {}: in {region}{limits}", host.name);
    }
    for service in &lab.services {
        let hosts = service.hosts.iter().map(|host| lab.hosts[*host].name.as_str());
        let hosts = hosts.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "  service {}: on {hosts}", service.name);
    }
    groups(&mut text, lab);
    for name in &lab.names {
        let service = &lab.services[name.service].name;
        let _ = writeln!(text, "  name {}.lab: of {service}, kept for {} s", name.name, name.ttl_s);
    }
    for timed in &lab.faults {
        let at = units::span(timed.at_ns);
        let length = timed.for_ns.map(|ns| format!(" for {}", units::span(ns)));
        let what = lab::describe(&timed.fault, lab);
        let _ = writeln!(text, "  fault at {at}{}: {what}", length.unwrap_or_default());
    }
    text
}

/// How a lab is.
pub(super) fn status(status: &Status) -> String {
    let mut text = format!("{} ({})\n", status.lab, status.file);
    if status.dilation > 1 {
        let _ = writeln!(
            text,
            "  dilation: a second of the lab takes {} of this machine; times are the lab's",
            units::counted(u64::from(status.dilation), "second")
        );
    }
    for host in &status.hosts {
        let cpu = host.cpu_s.map(|s| format!(", {} of CPU", units::duration(s * 1e9)));
        let memory = host.memory_bytes.map(|bytes| format!(", {}", units::bytes(bytes)));
        let _ = writeln!(
            text,
            "  host {}: {} in {}{}{}",
            host.name,
            host.address,
            host.region,
            cpu.unwrap_or_default(),
            memory.unwrap_or_default()
        );
    }
    for instance in &status.instances {
        let state = format!("{:?}", instance.state).to_lowercase();
        let pid = instance.pid.map(|pid| format!(", process {pid}"));
        let restarts = match instance.restarts {
            0 => String::new(),
            times => format!(", started again {}", units::counted(u64::from(times), "time")),
        };
        let _ = writeln!(
            text,
            "  {}: {state} on {}{}{restarts}",
            instance.name,
            instance.host,
            pid.unwrap_or_default()
        );
    }
    groups_now(&mut text, status);
    for name in &status.names {
        let _ = writeln!(
            text,
            "  name {}.lab: {} from {}",
            name.name,
            units::counted(name.questions, "question"),
            name.region
        );
    }
    network(&mut text, &status.network);
    for (number, fault) in &status.faults {
        let _ = writeln!(text, "  fault {number}: {fault}");
    }
    text
}

/// Emulator of the network, and its figures.
fn network(text: &mut String, network: &NetworkStatus) {
    let why = network.why.as_ref();
    let why = why.map_or(String::new(), |why| format!(" ({why})"));
    let late = network.late_max_ns.zip(network.late_p99_ns);
    let late = late.map_or("how late is not counted".to_owned(), |(max_ns, p99_ns)| {
        let [max, p99] = [max_ns, p99_ns].map(|ns| units::duration(ns as f64));
        format!("late at most {max}, p99 {p99}")
    });
    let cpu = network.cpu_s.map(|cpu_s| units::duration(cpu_s * 1e9));
    let cpu = cpu.map_or(String::new(), |cpu| format!("; {cpu} of CPU"));
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "  network: {}{why}; {} packets, {} lost by links, {} by the network; {late}{cpu}",
        network.by, network.packets, network.lost, network.overflow
    );
}

/// The scaling groups of a file.
fn groups(text: &mut String, lab: &LabFile) {
    for group in &lab.scaling {
        let service = &lab.services[group.service].name;
        let region = group.region.map(|at| format!(" in {}", lab.regions[at]));
        let rules = &group.rules;
        let alarms = units::counted(rules.alarms.len() as u64, "alarm");
        let _ = writeln!(
            text,
            "  group {service}{}: {}, {} to {}, {alarms}",
            region.unwrap_or_default(),
            units::counted(u64::from(rules.desired), "instance"),
            rules.minimum,
            rules.maximum
        );
    }
}

/// How scaling groups are.
fn groups_now(text: &mut String, status: &Status) {
    for group in &status.groups {
        let region = group.region.as_ref().map(|name| format!(" in {name}"));
        let mut counts = format!("{} of {} instances", group.running, group.desired);
        for (count, what) in [(group.launching, "launching"), (group.ending, "ending")] {
            if count > 0 {
                counts += &format!(", {count} {what}");
            }
        }
        let _ = writeln!(
            text,
            "  group {}{}: {counts} ({} to {})",
            group.service,
            region.unwrap_or_default(),
            group.minimum,
            group.maximum
        );
    }
}

/// The ways between regions as a table.
pub(super) fn pairs(pairs: &[PairStatus]) -> String {
    let between = pairs.iter().map(|pair| format!("{} – {}", pair.from, pair.to));
    let between: Vec<String> = between.collect();
    let width = between.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:>9}  {:>9}  {:>9}  {:>14}\n",
        "round trip", "requested", "median", "p99", "lost (request)"
    );
    let time = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| units::duration(ns as f64));
    for (pair, between) in pairs.iter().zip(between) {
        let lost = format!("{} ({})", units::share(pair.lost), units::share(pair.lost_requested));
        let _ = writeln!(
            text,
            "{between:width$}  {:>9}  {:>9}  {:>9}  {lost:>14}",
            time(Some(pair.requested_ns)),
            time(pair.median_ns),
            time(pair.p99_ns),
        );
    }
    text
}
