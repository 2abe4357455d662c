//! The binary as people use it, and the rules of this repository.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

mod ads;
mod analyze;
mod attempt;
mod balancer;
mod both_sides;
mod capacity;
mod channels;
mod ci;
mod cli;
mod compare;
mod connecting;
mod converted;
mod cookbook;
mod deploy;
mod events;
mod examples;
mod experiments;
mod exports;
mod faults;
mod fleet;
mod grpc;
mod hostile;
mod http2;
mod kill;
mod lab;
mod market;
mod meetings;
mod model;
mod mqtt;
mod needs;
mod once;
#[cfg(feature = "quick")]
mod pages;
#[cfg(feature = "quick")]
mod pauses;
mod people;
mod probes;
mod queue;
mod regions;
mod round_trip;
mod runs;
mod samples;
mod secrets;
mod secure_market;
mod stores;
mod support;
mod sweeps;
mod tags;
mod tcp;
mod thesis;
mod tidy;
mod tsung;
mod tutorial;
#[cfg(feature = "quick")]
mod ui;
mod workers;
