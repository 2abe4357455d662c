//! Memory that ran short while users were still coming.

use record::schema::EventKind;

use crate::figures::Figures;

/// The moment at which the run's guard ended the ramp before memory was gone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryPressure {
    pub(crate) available_bytes: u64,
    /// Users that were present.
    pub(crate) users: u64,
}

impl MemoryPressure {
    pub(super) fn find(figures: &Figures) -> Option<MemoryPressure> {
        figures.events.iter().find_map(|event| match event.what {
            EventKind::MemoryPressure { available_bytes, users } => {
                Some(MemoryPressure { available_bytes, users })
            }
            _ => None,
        })
    }
}
