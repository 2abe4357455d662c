//! The values that alarms look at: CPU and memory from control groups, and instances' pages of metrics.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use machine::clock::unix_ns;
use machine::group::Group;
use probe::{Kind, samples};

use super::ScalerState;
use super::live::Live;
use crate::clock::stretch;
use crate::request::get;
use crate::scaling::{Alarm, Metric};
use crate::site::Site;

/// How long an instance may take for its page, all in all, in the lab's time.
const PAGE_MAX: Duration = Duration::from_millis(500);
/// Longest page that is read, in bytes.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// Pages of instances' metrics, by group, place, and when they were read.
type Pages = Vec<(usize, usize, u64, String)>;

/// Reads all metrics and hands them to the alarms.
pub(super) fn sample(shared: &ScalerState) {
    let pages = pages(shared);
    let now_ns = unix_ns();
    let mut inner = shared.inner();
    for (number, live) in inner.groups.iter_mut().enumerate() {
        let alarms = live.group.rules().alarms.clone();
        // Several alarms may look at one metric, which is read once.
        let mut known: Vec<(Metric, Vec<f64>)> = Vec::new();
        for (at, alarm) in alarms.iter().enumerate() {
            if !alarm.metric.is_of_instances() {
                continue;
            }
            let found = known.iter().position(|(metric, _)| *metric == alarm.metric);
            let found = found.unwrap_or_else(|| {
                let of = pages.iter().filter(|(group, ..)| *group == number);
                let values = values(live, &shared.site, alarm, now_ns, of);
                known.push((alarm.metric.clone(), values));
                known.len() - 1
            });
            if let Some(value) = alarm.statistic.apply(&known[found].1) {
                live.group.add(at, now_ns, value);
            }
        }
    }
}

/// A metric's value of each instance that has one.
fn values<'p>(
    live: &mut Live,
    site: &Site,
    alarm: &Alarm,
    now_ns: u64,
    pages: impl Iterator<Item = &'p (usize, usize, u64, String)>,
) -> Vec<f64> {
    let running: Vec<(usize, usize)> = live.running().collect();
    match &alarm.metric {
        Metric::Cpu => {
            let rates = running.into_iter().filter_map(|(place, host)| {
                let host = &site.hosts[host];
                let used_s = host.group.as_ref().and_then(Group::cpu_ns)? as f64 / 1e9;
                Some(rate(live, place, "cpu", now_ns, used_s)? / host.plan.cpus?)
            });
            rates.collect()
        }
        Metric::Memory => {
            let shares = running.into_iter().filter_map(|(_, host)| {
                let host = &site.hosts[host];
                let used = host.group.as_ref().and_then(Group::memory_bytes)?;
                Some(used as f64 / host.plan.memory_bytes? as f64)
            });
            shares.collect()
        }
        Metric::Prometheus(name) => {
            let values = pages.filter_map(|(_, place, at_ns, page)| {
                let (kind, value) = value_on(page, name)?;
                match kind {
                    Kind::Gauge => Some(value),
                    Kind::Counter => rate(live, *place, name, *at_ns, value),
                }
            });
            values.collect()
        }
        Metric::Users | Metric::Arrivals => Vec::new(),
    }
}

/// How fast a number grew since it was read last; `None` the first time, and where it fell: its process is another.
fn rate(live: &mut Live, place: usize, name: &str, now_ns: u64, value: f64) -> Option<f64> {
    let (then_ns, before) = live.counters.insert((place, name.to_owned()), (now_ns, value))?;
    let seconds = now_ns.checked_sub(then_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
    (value >= before).then_some((value - before) / seconds)
}

/// A metric's value on a page: the sum over its labels.
fn value_on(page: &str, name: &str) -> Option<(Kind, f64)> {
    let found = samples(page).map_while(Result::ok).filter(|sample| sample.name == name);
    found.fold(None, |sum: Option<(Kind, f64)>, sample| {
        let (_, value) = sum.unwrap_or((sample.kind, 0.0));
        Some((sample.kind, value + sample.value))
    })
}

/// The pages of all instances of groups whose alarms need them, read at once from the host that conducts.
fn pages(shared: &ScalerState) -> Pages {
    let site = &shared.site;
    let mut wanted: Vec<(usize, usize, SocketAddr)> = Vec::new();
    for (number, live) in shared.inner().groups.iter().enumerate() {
        let alarms = &live.group.rules().alarms;
        let is_page = |alarm: &Alarm| matches!(alarm.metric, Metric::Prometheus(_));
        let port = site.directory.file.services[live.service].port;
        if let Some(port) = port.filter(|_| alarms.iter().any(is_page)) {
            let running = live.running();
            wanted.extend(running.map(|(place, host)| {
                let address: Ipv4Addr = site.hosts[host].plan.address;
                (number, place, SocketAddr::from((address, port)))
            }));
        }
    }
    let Some(control) = site.hosts.last().filter(|_| !wanted.is_empty()) else {
        return Vec::new();
    };
    let read = control.namespace.run(|| {
        std::thread::scope(|scope| {
            let threads = wanted.iter().map(|(group, place, address)| {
                let page = || page(*address, stretch(PAGE_MAX));
                scope.spawn(move || Some((*group, *place, unix_ns(), page().ok()?)))
            });
            let threads: Vec<_> = threads.collect();
            let read = threads.into_iter().filter_map(|thread| thread.join().ok());
            read.flatten().collect::<Pages>()
        })
    });
    // Without a thread there are no values, which alarms take as they say.
    read.unwrap_or_default()
}

/// `/metrics` of an instance, which may take this time: alarms wait for it. HTTP/1.0, so that no answer comes in chunks.
fn page(address: SocketAddr, time_max: Duration) -> io::Result<String> {
    let answer = get(address, "HTTP/1.0", "/metrics", time_max)?;
    match answer.status {
        200 => answer.body(PAGE_BYTES_MAX),
        _ => Err(io::Error::new(ErrorKind::InvalidData, "no page of metrics")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use super::*;

    /// A server that answers with `first` and, every few milliseconds, a comment, until the other side closes or the
    /// returned sender is dropped.
    fn dribbling(first: &'static str) -> (SocketAddr, std::sync::mpsc::Sender<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = channel();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let mut sent = stream.write_all(first.as_bytes());
            let pause = Duration::from_millis(5);
            while sent.is_ok() && stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                sent = stream.write_all(b"# still here\n");
            }
        });
        (address, stop)
    }

    #[test]
    fn a_page_that_does_not_end_is_given_up() {
        let head = "HTTP/1.0 200 OK\r\n\r\nload 1\n";
        let (address, _stop) = dribbling(head);
        let failed = page(address, Duration::from_millis(200)).unwrap_err();
        let late = [ErrorKind::TimedOut, ErrorKind::WouldBlock];
        assert!(late.contains(&failed.kind()), "{failed}");
        let (address, stop) = dribbling(head);
        drop(stop);
        let read = page(address, Duration::from_secs(60)).unwrap();
        assert!(read.starts_with("load 1\n"), "{read}");
    }

    #[test]
    fn a_metrics_value_is_the_sum_over_its_labels() {
        let page = "# TYPE done_total counter\ndone_total{code=\"200\"} 3\ndone_total{code=\"500\"} 4\nload 0.5\n";
        assert_eq!(value_on(page, "done_total"), Some((Kind::Counter, 7.0)));
        assert_eq!(value_on(page, "load"), Some((Kind::Gauge, 0.5)));
        assert_eq!(value_on(page, "done"), None);
    }
}
