//! Models logs, or one file of counts, and prints the model: what `bench/model` times, without the
//! program around it. `time_model [--counts BEGIN] LOG…`

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use model::Settings;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let settings =
        Settings { threads: std::thread::available_parallelism()?.get(), ..Settings::default() };
    let made = if args.first().is_some_and(|first| first == "--counts") {
        let begin = model::clock_time(&args[1]).ok_or("the second argument is no time")?;
        model::from_counts(args[2].as_ref(), 1, begin, &settings)?
    } else {
        let logs: Vec<PathBuf> = args.drain(..).map(PathBuf::from).collect();
        model::from_logs(&logs, &settings)?
    };
    // All that the program writes is made, so that its time counts.
    let traces: usize = made.files().map(|(_, text)| text.len()).sum();
    let written = made.scenario().len() + traces;
    writeln!(std::io::stderr(), "scenario and trace have {written} bytes")?;
    let json = serde_json::to_string(&made.model)?;
    Ok(writeln!(std::io::stdout(), "{json}")?)
}
