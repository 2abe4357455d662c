//! Real servers from the system's packages, started by `scripts/services`.
//!
//! Crates include this file by its path, beside `needs.rs`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::needs::skip;

/// Servers that run as long as this exists.
pub(crate) struct Services {
    script: Child,
    services: Value,
}

impl Services {
    /// Starts these. A test is reported as skipped where the script cannot be run.
    pub(crate) fn start(names: &[&str]) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
        let mut command = Command::new(script);
        command.args(names).stdin(Stdio::piped());
        let Ok(mut script) = command.stdout(Stdio::piped()).spawn() else {
            skip("scripts/services needs python3");
            return None;
        };
        let mut line = String::new();
        let output = script.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let services =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        Some(Self { script, services })
    }

    /// Where a server is. The test is reported as skipped where it is not installed.
    pub(crate) fn url(&self, name: &str) -> Option<&str> {
        let service = &self.services[name];
        let url = service["url"].as_str();
        if url.is_none() {
            skip(&format!("no {name}: {}", service["why"]));
        }
        url
    }

    /// The authority of the servers' certificate. The test is reported as skipped without openssl.
    pub(crate) fn ca(&self) -> Option<&str> {
        let servers = self.services.as_object()?.values();
        let ca = servers.filter_map(|server| server["ca"].as_str()).next();
        if ca.is_none() {
            skip("no openssl: the databases have no TLS");
        }
        ca
    }

    /// Where a server speaks TLS alone.
    pub(crate) fn tls_url(&self, name: &str) -> Option<&str> {
        self.services[name]["tls_url"].as_str()
    }

    /// The process of a server that there is.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        let pid = self.services[name]["pid"].as_u64();
        pid.and_then(|pid| u32::try_from(pid).ok())
            .unwrap_or_else(|| panic!("no process of {name} in {}", self.services))
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        // The end of its input ends the script, which stops its servers and removes their files.
        drop(self.script.stdin.take());
        drop(self.script.wait());
    }
}
