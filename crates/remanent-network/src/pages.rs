//! Large arrays on large pages of memory.
//!
//! A step of training goes through all weights and the state of their learner. With pages of 4 KiB the processor looks up
//! an address for every few thousand bytes; Linux has pages of 2 MiB for memory that asks for them. Systems without
//! them, and small arrays, are not affected.

/// `count` values.
pub fn filled<T: Copy>(count: usize, value: T) -> Vec<T> {
    let mut array = Vec::with_capacity(count);
    // Before the first use of the memory: pages are chosen then.
    advise(&mut array);
    array.resize(count, value);
    array
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a call of the system with an address")]
fn advise<T>(array: &mut Vec<T>) {
    const PAGE: usize = 1 << 21;
    let room = array.spare_capacity_mut();
    let start = room.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let Some(whole) = size_of_val(room).checked_sub(skipped) else { return };
    let whole = whole / PAGE * PAGE;
    if whole > 0 {
        let first = start.wrapping_add(skipped).cast();
        // SAFETY: the pages lie within memory that the array owns, and the advice does not change their content.
        // Where the system has no such pages it refuses, and nothing changes.
        let _ = unsafe { rustix::mm::madvise(first, whole, rustix::mm::Advice::LinuxHugepage) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn arrays_of_every_size_have_their_values() {
        for count in [0, 1, 1000, 1 << 19, (1 << 21) + 17] {
            let array = filled(count, 1.5_f32);
            assert!(array.len() == count && array.iter().all(|x| *x == 1.5));
        }
    }
}
