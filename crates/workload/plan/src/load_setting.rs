//! A number of a scenario that decides how large its load is, and that `--set` can change.

/// A number of a scenario, with the place that `--set` knows it by.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSetting {
    /// As in `arrivals.0.constant`, or a parameter's name.
    pub path: String,
    /// As written.
    pub value: f64,
    /// The unit behind the number: `/s`, or nothing.
    pub unit: String,
}

impl LoadSetting {
    /// True where only whole numbers make sense: a count of users.
    pub fn is_whole(&self) -> bool {
        self.unit.is_empty() && self.value.fract() == 0.0
    }

    /// The key and the value for `--set`.
    pub fn setting(&self, value: f64) -> (String, String) {
        (self.path.clone(), self.shown(value))
    }

    /// A value with the unit.
    pub fn shown(&self, value: f64) -> String {
        format!("{value}{}", self.unit)
    }
}
