//! The lab's page of metrics, in Prometheus' text format: what groups have, for the probes of a run.

use std::fmt::Write;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Weak};
use std::time::Duration;

use httpd::{Config, Handler, Limits, Listener, Reply, Request};

use super::ScalerState;

/// Port of the page, which the host that conducts serves at `/metrics`.
const METRICS_PORT: u16 = 9170;

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
