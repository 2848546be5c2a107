//! How much memory the process can have.
//!
//! What is asked for is compared with this before anything is allocated: a request that is refused
//! with its size can be corrected, and an allocation that fails ends the program.

use std::fs;
use std::sync::OnceLock;

/// The part of the memory that the content of one file may take. Conversions need copies.
const SHARE: u64 = 4;
/// The limit of a file where the system does not tell how much memory there is.
const UNKNOWN: u64 = 1 << 34;

/// The memory of this process in bytes: that of the machine, or less if its control group or its
/// address space is limited. None where the system does not tell.
pub fn available() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cgroup = read("/proc/self/cgroup");
    let own = own_group(&cgroup).unwrap_or_default();
    let groups = [
        format!("/sys/fs/cgroup{own}/memory.max"),
        "/sys/fs/cgroup/memory.max".into(),
        "/sys/fs/cgroup/memory/memory.limit_in_bytes".into(),
    ];
    let machine = machine(&read("/proc/meminfo"));
    let space = address_space(&read("/proc/self/limits"));
    let groups = groups.iter().filter_map(|path| read(path).trim().parse().ok());
    machine.into_iter().chain(space).chain(groups).min()
}

/// The largest content of a file, in bytes, that is read into memory.
pub fn largest_file() -> u64 {
    // Asked for with every file that is read, and read from several files itself.
    static LARGEST: OnceLock<u64> = OnceLock::new();
    *LARGEST.get_or_init(|| available().map_or(UNKNOWN, |available| available / SHARE))
}

/// `MemTotal` of /proc/meminfo.
fn machine(meminfo: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The soft limit `Max address space` of /proc/self/limits; none if it is unlimited.
fn address_space(limits: &str) -> Option<u64> {
    let rest = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The control group of version 2 in /proc/self/cgroup.
fn own_group(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_system_are_understood() {
        let meminfo = "MemTotal:       24601688 kB\nMemFree:         1234 kB\n";
        assert_eq!(machine(meminfo), Some(24_601_688 * 1024));
        let head = "Limit                     Soft Limit           Hard Limit           Units\n";
        let line = "Max address space         4294967296           unlimited            bytes\n";
        assert_eq!(address_space(&format!("{head}{line}")), Some(1 << 32));
        let line = "Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(address_space(&format!("{head}{line}")), None);
        assert_eq!(own_group("1:name=x:/a\n0::/user.slice\n"), Some("/user.slice"));
        for text in ["", "MemTotal: many kB", "Max address space", "0:"] {
            assert_eq!((machine(text), address_space(text), own_group(text)), (None, None, None));
        }
    }
}
