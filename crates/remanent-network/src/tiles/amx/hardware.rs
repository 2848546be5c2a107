//! The instructions themselves. Stable Rust has no intrinsics for them.
#![expect(unsafe_code, reason = "instructions that the compiler does not know")]

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

use super::{Numbers, Panels, Sink, Sums, Tile, Unit, multiply_with};

/// Whether the processor has tiles of such numbers and Linux grants them; asked for once in a process.
pub fn is_available(numbers: Numbers) -> bool {
    // CPUID takes long in a virtual machine.
    static AVAILABLE: [OnceLock<bool>; 2] = [OnceLock::new(), OnceLock::new()];
    *AVAILABLE[numbers as usize].get_or_init(|| has_tiles(numbers) && request())
}

/// Gives the tiles of a · b to a sink. Tile registers are in use only during the call: a thread that does
/// not multiply pays nothing for them.
///
/// # Panics
///
/// If the processor does not have the tiles.
pub fn multiply(numbers: Numbers, a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
    assert!(is_available(numbers), "a processor with AMX");
    let mut unit = Hardware::start().expect("a processor with AMX");
    match numbers {
        Numbers::Bf16 => multiply_with::<_, true>(&mut unit, a, b, sink),
        Numbers::Bytes => multiply_with::<_, false>(&mut unit, a, b, sink),
    }
}

/// CPUID: AMX-TILE (bit 24) and AMX-BF16 (bit 22) or AMX-INT8 (bit 25) of leaf 7; and the operating system saves
/// the two parts of the tile state (bits 17 and 18 of XCR0).
fn has_tiles(numbers: Numbers) -> bool {
    const OSXSAVE: u32 = 1 << 27;
    let tiles: u32 = 1 << 24 | if numbers == Numbers::Bf16 { 1 << 22 } else { 1 << 25 };
    const STATE: u64 = 3 << 17;
    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    // SAFETY: OSXSAVE is set, so XGETBV exists.
    let state = unsafe { xcr0() };
    __cpuid_count(7, 0).edx & tiles == tiles && state & STATE == STATE
}

#[target_feature(enable = "xsave")]
fn xcr0() -> u64 {
    // SAFETY: register 0 exists wherever the instruction does.
    unsafe { _xgetbv(0) }
}

/// Asks Linux for the state of the tile data: arch_prctl(ARCH_REQ_XCOMP_PERM, 18).
fn request() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let result: i64;
    // SAFETY: the system call reads no memory of ours; RCX and R11 are what the instruction changes.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// The layout of LDTILECFG: palette 1, eight registers of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

static CONFIGURATION: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// The tile registers of this thread, configured. It exists only where [`is_available`] is true; the
/// pointer keeps it in its thread.
pub struct Hardware(std::marker::PhantomData<*mut ()>);

impl Hardware {
    /// Configures the tile registers.
    pub fn start() -> Option<Self> {
        if !is_available(Numbers::Bf16) && !is_available(Numbers::Bytes) {
            return None;
        }
        // SAFETY: the processor has the tiles and the process may use them; the configuration has the
        // layout of the instruction.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const CONFIGURATION, options(nostack, readonly));
        }
        Some(Self(std::marker::PhantomData))
    }
}

impl Drop for Hardware {
    fn drop(&mut self) {
        // SAFETY: as for `start`.
        unsafe { asm!("tilerelease", options(nostack, nomem)) }
    }
}

/// Distance of the rows of a tile in memory.
const STRIDE: usize = 64;

// SAFETY of all operations: a `Hardware` exists, so the registers are configured. Only these functions use
// them, and the compiler does not know them, so they keep their values between the operations. A tile of memory
// is 16 rows of 64 bytes.
impl Unit for Hardware {
    #[inline(always)]
    fn zero<const T: usize>(&mut self) {
        // SAFETY: above.
        unsafe { asm!("tilezero tmm{t}", t = const T, options(nostack, nomem)) }
    }

    #[inline(always)]
    fn load<const T: usize>(&mut self, tile: &Tile) {
        // SAFETY: above.
        unsafe {
            asm!(
                "tileloadd tmm{t}, [{tile} + {stride}*1]",
                t = const T,
                tile = in(reg) &raw const *tile,
                stride = in(reg) STRIDE,
                options(nostack, readonly),
            );
        }
    }

    #[inline(always)]
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self) {
        // SAFETY: above.
        unsafe {
            asm!(
                "tdpbf16ps tmm{c}, tmm{a}, tmm{b}",
                c = const C,
                a = const A,
                b = const B,
                options(nostack, nomem),
            );
        }
    }

    #[inline(always)]
    fn multiply_bytes<const C: usize, const A: usize, const B: usize>(&mut self) {
        // SAFETY: above.
        unsafe {
            asm!(
                "tdpbusd tmm{c}, tmm{a}, tmm{b}",
                c = const C,
                a = const A,
                b = const B,
                options(nostack, nomem),
            );
        }
    }

    #[inline(always)]
    fn store<const T: usize>(&mut self, sums: &mut Sums) {
        // SAFETY: above; the tile of sums is borrowed alone.
        unsafe {
            asm!(
                "tilestored [{sums} + {stride}*1], tmm{t}",
                t = const T,
                sums = in(reg) &raw mut *sums,
                stride = in(reg) STRIDE,
                options(nostack),
            );
        }
    }
}
