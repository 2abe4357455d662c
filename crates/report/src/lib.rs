//! Renders a run and its findings for people: the live screen, plain lines, the verdict.
//!
//! Everything returns text or writes to what it is given; standard output is the caller's. No
//! figure is computed here that `judge` did not compute, but for the moving ones of the live
//! view, which are sums over the last seconds.

mod json;
mod live;
#[cfg(test)]
mod sample;
mod screen;
mod style;
mod table;
mod tsung;
mod verdict;

pub use json::json;
pub use live::{Live, LiveMeasure, LiveState, Stage, plain_line};
pub use screen::Screen;
pub use style::Style;
pub use tsung::{TsungLog, TsungRequest};
pub use verdict::verdict;
