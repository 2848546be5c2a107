//! Input that is huge, absurd or hostile: it is refused at once, with its size and a cure, and nothing
//! that the user has is touched.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::common::{refused, remanent};

/// What a command said and how it ended, in an address space of so many KiB: exit code, output,
/// errors.
#[cfg(unix)]
fn confined(directory: &Path, space: u64, arguments: &str) -> (Option<i32>, String, String) {
    let program = assert_cmd::cargo::cargo_bin("remanent");
    let start = Instant::now();
    let output = std::process::Command::new("sh")
        .current_dir(directory)
        .arg("-c")
        .arg(format!("ulimit -v {space} && exec '{}' --threads 2 {arguments}", program.display()))
        .output()
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{arguments}: {:?}", start.elapsed());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[cfg(unix)]
#[test]
fn what_is_too_large_is_refused_with_its_size() {
    let directory = TempDir::new().unwrap();
    for (arguments, told) in [
        ("simulate --n 1000000 --alpha 1 --epochs 1", "of memory are needed for one cell"),
        ("simulate --n 100000 --alpha 4 --epochs 1 --seeds 2", "needed for 2 cells at once"),
        ("simulate --n 1000 --alpha 1 --epochs 1 --fresh-patterns 1e7 --set n=100000", "of memory"),
        ("simulate --n 10 --alpha 1 --epochs 1e8 --record-every 1", "of memory are needed"),
        ("simulate --alpha 1 --learner boltzmann --sweeps 1e7 --chains 64 --n 10", "of memory"),
        (
            "simulate --alpha 2 --scan gamma=0:1:0.0001 --scan lr=0.001:1:0.0001 --dry-run",
            "10001 gamma × 9991 lr make 99919991 cells",
        ),
        ("simulate --alpha 2 --scan gamma=0:1:1e-12", "has 1000000000001 values"),
        ("simulate --alpha 2 --seeds 1e8", "seeds = 100000000 cannot be used"),
        ("simulate --alpha 2 --seeds 1e5 --scan gamma=0:1:0.1", "make 1100000 cells"),
        ("train --preset digits --hidden 60000,60000", "of memory are needed"),
        ("train --preset digits --seeds 1e9", "a whole number from 1 to 100000"),
        (
            "theory chain --alpha 2,2 --r0 0.5 --scan alpha2=0.1:9:0.001 --scan r0=-0.9:0.9:0.001",
            "8901 alpha2 × 1801 r0 make 16030701 points",
        ),
        ("theory single --alpha 0.1:3:0.0001 --beta 1:100:0.1", "make 28739991 points"),
        ("theory chain --alpha 0.1:3:0.0001 --r0 0.5", "at most 100 tasks"),
        ("theory tune --alpha 0.1:3:0.0001 --r0 0.5", "at most 100 tasks"),
        ("theory constrained --alpha 0.1:3:0.0001 --r0 0.5 --q-star 0.5", "at most 100 tasks"),
    ] {
        let (code, _, message) = confined(directory.path(), 4_000_000, arguments);
        assert_eq!(code, Some(2), "{arguments}: {message}");
        assert!(message.contains(told), "{arguments}: {message}");
        assert!(message.len() < 500, "{arguments}: {message}");
    }
    let arguments = "simulate --n 1000000 --alpha 1 --epochs 1 --dry-run";
    let (code, text, message) = confined(directory.path(), 4_000_000, arguments);
    assert_eq!(code, Some(0), "{message}");
    assert!(
        text.contains("memory         about 11") && text.contains("would be refused"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_unpacks_to_a_gigabyte_is_not_unpacked() {
    let directory = TempDir::new().unwrap();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (200, 64)}";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    let mut zip = ZipWriter::new(fs::File::create(directory.path().join("bomb.npz")).unwrap());
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("x.npy", options.compression_level(Some(1))).unwrap();
    zip.write_all(&npy).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..1024 {
        zip.write_all(&zeros).unwrap();
    }
    zip.finish().unwrap();
    let (code, _, message) =
        confined(directory.path(), 800_000, "train --stream sequence:bomb.npz");
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("array x of") && message.contains("goes on after"), "{message}");
}

#[cfg(unix)]
#[test]
fn output_goes_to_regular_files_only() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let run =
        "train --preset digits --train-images 64 --test-images 32 --epochs 1 --hidden 8 --out run";
    remanent(&directory, run).assert().success();
    for name in ["pipe.svg", "pipe.rbin"] {
        let made = std::process::Command::new("mkfifo").arg(path(name)).status().unwrap();
        assert!(made.success());
    }
    fs::write(path("mine.svg"), "<svg>").unwrap();
    for name in ["link.svg", "link.rbin"] {
        symlink(path("mine.svg"), path(name)).unwrap();
    }
    symlink("/dev/null", path("device.svg")).unwrap();
    symlink(path("nothing"), path("dangling.rbin")).unwrap();
    for name in ["pipe.svg", "link.svg", "device.svg"] {
        let message = refused(&directory, &format!("theory single --alpha 1 --plot {name}"));
        assert!(message.contains("regular files only"), "{message}");
    }
    for name in ["pipe.rbin", "link.rbin", "dangling.rbin", "/dev/null"] {
        for force in ["", "--force"] {
            let command = format!("export run --format packed --out {name} {force}");
            let message = refused(&directory, &command);
            assert!(message.contains(name) && message.contains("it is "), "{message}");
        }
    }
    assert!(fs::symlink_metadata(path("pipe.svg")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(path("pipe.rbin")).unwrap().file_type().is_fifo());
    assert_eq!(fs::read_to_string(path("mine.svg")).unwrap(), "<svg>");
    assert!(!path("nothing").exists());
    // Nor is a pipe waited for, or a device read that never ends.
    for command in ["predict pipe.rbin digits", "inspect /dev/zero", "predict run pipe.svg"] {
        let output =
            remanent(&directory, command).timeout(Duration::from_secs(20)).output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{command}: {output:?}");
    }
    // What is appended to does not lead elsewhere either.
    fs::remove_file(path("run/times.csv")).unwrap();
    symlink(path("mine.svg"), path("run/times.csv")).unwrap();
    let output = remanent(&directory, run).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("symbolic link"), "{output:?}");
    assert_eq!(fs::read_to_string(path("mine.svg")).unwrap(), "<svg>");
}

#[test]
fn a_plot_replaces_pictures_and_nothing_else() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.svg");
    let command = "theory single --alpha 0.5 --plot a.svg";
    let first = remanent(&directory, command).output().unwrap();
    assert!(first.status.success() && first.stderr.is_empty(), "{first:?}");
    let again = remanent(&directory, command).output().unwrap();
    assert!(again.status.success());
    assert_eq!(String::from_utf8_lossy(&again.stderr), "replaced a.svg\n");
    let quiet = remanent(&directory, &format!("{command} --quiet")).output().unwrap();
    assert!(quiet.status.success() && quiet.stderr.is_empty());
    fs::write(&path, "chapter one").unwrap();
    assert!(refused(&directory, command).contains("not an SVG or PNG picture"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "chapter one");
}

/// Permissions do not bind root: the directory is mounted read-only, in a namespace of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_finished_run_in_a_read_only_directory_is_readable() {
    let directory = TempDir::new().unwrap();
    let program = assert_cmd::cargo::cargo_bin("remanent");
    let mounted = |arguments: &str| {
        let script = format!(
            "mount --bind runs runs && mount -o remount,bind,ro runs && ! touch runs/x 2>/dev/null \
             || exit 99; exec '{}' {arguments}",
            program.display()
        );
        let output = std::process::Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c", &script])
            .current_dir(directory.path())
            .output();
        output.ok().filter(|output| output.status.code() != Some(99))
    };
    fs::create_dir(directory.path().join("runs")).unwrap();
    let works = mounted("--version").is_some_and(|output| output.status.success());
    if !works {
        let text = "skipped: nothing can be mounted here, and no run be made read-only\n";
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    }
    for command in [
        "simulate --n 60 --alpha 1 --epochs 5 --seeds 2 --format csv --out runs/simulate",
        "train --preset digits --train-images 64 --test-images 32 --epochs 1 --hidden 8 \
         --format csv --out runs/train",
        "reproduce 1 --quick --format csv --report page --out runs/reproduce",
    ] {
        remanent(&directory, command).assert().success();
        // Times are those of the file from now on.
        let first = remanent(&directory, command).output().unwrap();
        assert!(first.status.success(), "{first:?}");
        let again = mounted(command).unwrap();
        assert_eq!(again.status.code(), Some(0), "{command}: {again:?}");
        assert_eq!(
            String::from_utf8_lossy(&again.stdout),
            String::from_utf8_lossy(&first.stdout),
            "{command}"
        );
        assert!(String::from_utf8_lossy(&again.stderr).contains("read-only"), "{again:?}");
    }
    let more = "simulate --n 60 --alpha 1 --epochs 5 --seeds 3 --out runs/simulate";
    let output = mounted(more).unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("is read-only and only 2 of 3 cells are done"), "{message}");
}

#[test]
fn numbers_are_refused_in_words() {
    let directory = TempDir::new().unwrap();
    for (arguments, told) in [
        ("simulate --alpha 1 --n 1e9", "n = 1000000000 is out of range"),
        ("simulate --alpha 1 --n 1.5", "it must be a whole number, e.g. 1000 or 1e3"),
        ("simulate --alpha 1 --n nan", "it must be a whole number"),
        ("simulate --alpha 1 --seed -1", "it must be 0 or above"),
        ("simulate --alpha 1 --seed 1e30", "it must be at most 9223372036854775807"),
        ("simulate --alpha 1 --batch -1", "batch = -1 cannot be used"),
        ("simulate --alpha 1e-300", "alpha = 1e-300 with n = 1000 gives no pattern"),
        ("simulate --alpha 1 --epochs -1", "it must be whole numbers, 0 or above"),
        ("theory single --alpha 1e-300", "alpha = 1e-300 is out of range"),
        ("simulate --alpha 1 --seeds 1e8", "it must be a whole number from 1 to 100000"),
        ("simulate --alpha 1 --momentum 1e400", "it is not a finite number"),
        ("simulate --alpha 1 --momentum ", "a value is required"),
        ("simulate --alpha 1,1 --gamma 1,2,3", "gamma has 3 values, but 2 tasks need one"),
        ("simulate --alpha 1 --epochs 1,2", "epochs has 2 values, but one task needs one"),
        ("theory chain --alpha 2 --r0 0.5,0.2", "r0 has 2 values, but one task needs one"),
        ("train --stream 5", "'5'"),
        ("predict runs digits", "there is no file or directory runs"),
    ] {
        let message = refused(&directory, arguments);
        assert!(message.contains(told), "{arguments}: {message}");
    }
}

#[test]
fn entries_of_lists_are_spelt_alike_everywhere() {
    let directory = TempDir::new().unwrap();
    let table = |arguments: &str| {
        let output = remanent(&directory, arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let chain = "theory chain --alpha 1,1 --r0 0.5 --format csv --scan";
    assert_eq!(table(&format!("{chain} alpha2=1,2")), table(&format!("{chain} alpha.2=1,2")));
    assert_eq!(table(&format!("{chain} r0_1=0,0.5")), table(&format!("{chain} r0.1=0,0.5")));
    let simulate = "simulate --n 40 --alpha 1,1 --epochs 2 --format csv --scan";
    assert_eq!(table(&format!("{simulate} alpha2=1,2")), table(&format!("{simulate} alpha.2=1,2")));
}

#[test]
fn a_folder_of_runs_is_told_from_a_run() {
    let directory = TempDir::new().unwrap();
    remanent(&directory, "simulate --n 40 --alpha 1 --epochs 2 --out runs/mine").assert().success();
    fs::create_dir(directory.path().join("empty")).unwrap();
    for (command, told) in [
        ("inspect runs", "the run in it is runs/mine"),
        ("inspect empty", "give the --out of remanent train or simulate"),
    ] {
        let output = remanent(&directory, command).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("is not a run directory") && message.contains(told), "{message}");
    }
}

#[test]
fn a_missing_critical_point_is_explained() {
    let directory = TempDir::new().unwrap();
    for (beta, told) in [("20", "at a smaller beta"), ("3", "at a larger beta")] {
        let output =
            remanent(&directory, &format!("theory phase-diagram --beta {beta}")).output().unwrap();
        assert!(output.status.success());
        assert!(!String::from_utf8_lossy(&output.stdout).contains("critical"), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{output:?}");
    }
}
