//! Tables of things that come and go, and the memory that they may take.

pub mod budget;
pub mod slots;
