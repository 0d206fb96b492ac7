use std::{fs, path::Path};

use trefoil::{SearchOptions, SearchQuery, SearchStrategy};

use crate::Outcome;

/// A question as it is measured: ten results, without reranking.
pub fn search_query(question: &str, strategy: SearchStrategy) -> Outcome<SearchQuery> {
    let options = SearchOptions {
        strategies: vec![strategy],
        limit: 10,
        rerank_enabled: false,
        ..SearchOptions::default()
    };
    Ok(SearchQuery::new(question)?.replace_options(options))
}

/// Seconds that all threads of the process have run, as proc(5) counts them: in hundredths.
pub fn cpu_seconds() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // After the name in brackets come the state and, from the twelfth on, user and system time.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// Peak resident memory of the process in MB.
pub fn peak_mb() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    Ok(kilobytes.ok_or("the system names no peak of memory")?.trim().parse::<f64>()? / 1024.0)
}

/// Copies a folder with all below it.
pub fn copy_files(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
