//! No JavaScript: this program was built without the feature `full`, and so without QuickJS.

use std::sync::Arc;

use plan::K6Script;

use crate::exchange::{Answer, Ask, Console, Fault, Memory, Surroundings, Yielded};
use crate::scenario::Script;
use crate::summary::Written;

/// What all users of a loop share.
#[derive(Debug)]
pub struct Common;

impl Common {
    pub fn new(_: &Arc<K6Script>, _: &Arc<dyn Memory>) -> Common {
        Common
    }

    #[must_use]
    pub fn with_part(self, _: f64) -> Common {
        self
    }
}

/// A value of this type never exists.
#[derive(Debug)]
pub enum User {}

impl User {
    /// # Errors
    /// Always.
    pub fn new(_: &Common, _: u64) -> Result<User, Fault> {
        Err(absent())
    }

    pub fn prepare(&mut self, _: &str, _: &mut Surroundings<'_>) {
        match *self {}
    }

    pub fn resume(&mut self, _: Answer, _: &mut Surroundings<'_>) -> Ask {
        match *self {}
    }

    pub fn is_over(&self) -> bool {
        match *self {}
    }

    pub fn take_yielded(&mut self) -> Yielded {
        match *self {}
    }
}

/// # Errors
/// Always.
pub fn handle_summary(
    _: &Arc<K6Script>,
    _: &serde_json::Value,
    _: &mut Surroundings<'_>,
) -> (Result<Option<Vec<Written>>, Fault>, Console) {
    (Err(absent()), Console::default())
}

/// # Errors
/// Always.
pub fn read(
    _: &str,
    _: &[(String, String)],
    _: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Script, Fault> {
    Err(absent())
}

fn absent() -> Fault {
    Fault::new("this program was built without scripts")
}
