//! Simulated agents for `bench/fleet`: `simulated_agents URL AGENTS VERSION MEASURES OPERATIONS SECONDS SPOOLS`. Each line
//! is the number of bytes that a worker sent each second.
#![expect(clippy::print_stdout, reason = "its output is its result")]

use std::error::Error;
use std::path::Path;

use fleet::Access;
use fleet::simulated::SimulatedFleet;
use workers::PreparedReports;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, agents, throng, measures, operations, seconds, spools] = &args[..] else {
        return Err(
            "it takes a URL, agents, a version, measures, operations, seconds and a directory"
                .into(),
        );
    };
    let prepared = PreparedReports {
        measures: measures.parse()?,
        operations: operations.parse()?,
        seconds: seconds.parse()?,
    };
    let simulated = SimulatedFleet::join(&Access::from_url(url), agents.parse()?, throng)?;
    println!("{agents} agents wait");
    simulated.serve(Path::new(spools), throng, prepared, &|bytes| {
        println!("{bytes}");
    });
    Ok(())
}
