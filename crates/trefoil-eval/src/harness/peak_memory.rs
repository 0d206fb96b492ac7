//! How much memory the process has held at most, as Linux tells it.

use std::fs;

/// Forgets the peak so far, so that the next one is of what follows. Where the system does
/// not allow it, the peak stays that of the whole process.
pub(crate) fn reset_peak() {
    // See proc(5), clear_refs: 5 resets the peak resident set size.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak resident set size in MiB; `None` where the system does not tell.
pub(crate) fn peak_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_grows_with_what_is_held() {
        let before = peak_mb().unwrap();
        let held = vec![1_u8; 200 << 20];
        assert!(held.iter().step_by(4096).map(|&byte| usize::from(byte)).sum::<usize>() > 0);
        assert!(peak_mb().unwrap() >= before.max(200.0));
    }
}
