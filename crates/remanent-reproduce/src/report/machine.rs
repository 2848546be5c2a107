//! The machine on which a report was made, as far as it tells.

use std::fs;

use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Machine {
    /// The name of the processor, or only its architecture.
    pub processor: String,
    /// The number of threads that were used.
    pub threads: usize,
    /// Memory in GiB.
    pub memory_gib: Option<f64>,
    /// The operating system.
    pub system: String,
    /// The widest vectors of the processor among those for which there is code: `avx512f`, `avx2`,
    /// `neon` or `scalar`.
    pub instructions: String,
}

impl Machine {
    /// This machine. What it does not tell is replaced by what was known when the program was
    /// compiled.
    pub fn detect(threads: usize) -> Self {
        // These files are there on Linux, and nothing of the kind elsewhere.
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let architecture = std::env::consts::ARCH;
        let processor = processor(&read("/proc/cpuinfo"));
        let system = system(&read("/etc/os-release"));
        Self {
            processor: processor.unwrap_or_else(|| architecture.to_owned()),
            threads,
            memory_gib: memory_gib(&read("/proc/meminfo")),
            system: format!(
                "{}, {architecture}",
                system.as_deref().unwrap_or(std::env::consts::OS)
            ),
            instructions: instructions().to_owned(),
        }
    }
}

/// The name of the first processor in `/proc/cpuinfo`. Those of ARM have none there.
fn processor(cpuinfo: &str) -> Option<String> {
    let named = |line: &str| {
        let (key, name) = line.split_once(':')?;
        (key.trim() == "model name").then(|| name.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    cpuinfo.lines().find_map(named).filter(|name| !name.is_empty())
}

/// The memory in `/proc/meminfo`, which counts in KiB and says kB.
fn memory_gib(meminfo: &str) -> Option<f64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: f64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / (1024.0 * 1024.0))
}

/// The name of the system in `/etc/os-release`.
fn system(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = name.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn instructions() -> &'static str {
    if is_x86_feature_detected!("avx512f") {
        "avx512f"
    } else if is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "scalar"
    }
}

#[cfg(target_arch = "aarch64")]
fn instructions() -> &'static str {
    if std::arch::is_aarch64_feature_detected!("neon") { "neon" } else { "scalar" }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn instructions() -> &'static str {
    "scalar"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_linux_are_understood_and_others_are_no_error() {
        let cpuinfo =
            "processor\t: 0\nvendor_id\t: X\nmodel name\t: A  B @ 2 GHz\n\nprocessor\t: 1\n";
        assert_eq!(processor(cpuinfo).as_deref(), Some("A B @ 2 GHz"));
        assert_eq!(memory_gib("MemTotal:       16777216 kB\nMemFree: 1 kB\n"), Some(16.0));
        let release = "NAME=\"X\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(system(release).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        for nonsense in ["", "\n", "MemTotal: much\nmodel name\nmodel name :\nPRETTY_NAME=\"\""] {
            assert_eq!(processor(nonsense), None);
            assert_eq!(memory_gib(nonsense), None);
            assert_eq!(system(nonsense), None);
        }
    }

    #[test]
    fn this_machine_says_something() {
        let machine = Machine::detect(3);
        assert_eq!(machine.threads, 3);
        assert!(!machine.processor.is_empty() && !machine.system.is_empty());
        assert!(["avx512f", "avx2", "neon", "scalar"].contains(&machine.instructions.as_str()));
    }
}
