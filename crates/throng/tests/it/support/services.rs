//! Real servers from the system's packages, started by `scripts/services`.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Running, root, skip};

/// Servers that run until the test ends. Who started them holds their input open.
pub(crate) struct Services {
    running: Running,
    services: Value,
}

impl Services {
    /// Starts these; `None`, said aloud, where the script cannot be run.
    pub(crate) fn start(names: &[&str]) -> Option<Services> {
        let mut command = Command::new(root().join("scripts/services"));
        command.args(names).stdin(Stdio::piped());
        if Command::new("python3").arg("--version").output().is_err() {
            skip("scripts/services needs python3");
            return None;
        }
        let mut running = Running::start(&mut command);
        let line = running.line();
        let services =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        Some(Services { running, services })
    }

    /// Where a server is; `None`, said aloud, where it is not installed.
    pub(crate) fn url(&self, name: &str) -> Option<&str> {
        let services = &self.services[name];
        let url = services["url"].as_str();
        if url.is_none() {
            skip(&format!("no {name}: {}", services["why"]));
        }
        url
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
        // The script ends its servers and removes their files.
        self.running.release();
    }
}
