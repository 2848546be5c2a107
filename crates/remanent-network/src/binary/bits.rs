//! The signs of one layer, one bit each, in the order in which [`super::sums`] reads them.
//!
//! A word holds the signs of 32 neighbouring inputs for one output; the 16 words of 16 neighbouring
//! outputs are read together. Four neighbouring bits are the signs of four inputs and index the table
//! of their sixteen sums. Bits of padding inputs and outputs are zero.

/// Outputs in a group: numbers side by side in one step of a kernel.
pub(super) const LANES: usize = 16;
/// Inputs in a block: bits of a word.
pub(super) const BLOCK: usize = 32;

/// The signs of a block of inputs for a group of outputs.
pub(super) type Words = [u32; LANES];

/// The signs of one layer; a bit is set for +1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    inputs: usize,
    outputs: usize,
    /// Block after block of inputs, in each group after group of outputs.
    words: Vec<Words>,
}

impl Bits {
    /// Calls `positive` input by input, and for each output by output.
    pub(super) fn new(
        inputs: usize,
        outputs: usize,
        mut positive: impl FnMut(usize, usize) -> bool,
    ) -> Self {
        let groups = outputs.div_ceil(LANES);
        let mut words = vec![[0; LANES]; inputs.div_ceil(BLOCK) * groups];
        for i in 0..inputs {
            let row = &mut words[i / BLOCK * groups..][..groups];
            for (j, word) in row.as_flattened_mut()[..outputs].iter_mut().enumerate() {
                *word |= u32::from(positive(i, j)) << (i % BLOCK);
            }
        }
        Self { inputs, outputs, words }
    }

    /// From [`Self::append_to`]; `bytes` has the length that [`Self::packed_len`] says.
    pub(super) fn unpacked(inputs: usize, outputs: usize, bytes: &[u8]) -> Self {
        Self::new(inputs, outputs, |i, j| {
            let place = i * outputs + j;
            bytes[place / 8] >> (place % 8) & 1 == 1
        })
    }

    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(super) fn groups(&self) -> usize {
        self.outputs.div_ceil(LANES)
    }

    pub(super) fn words(&self) -> &[Words] {
        &self.words
    }

    /// Whether the weight from input `i` to output `j` is +1.
    pub(super) fn is_positive(&self, i: usize, j: usize) -> bool {
        assert!(i < self.inputs && j < self.outputs, "no weight ({i}, {j})");
        self.words[i / BLOCK * self.groups() + j / LANES][j % LANES] >> (i % BLOCK) & 1 == 1
    }

    /// All signs, input by input, and in each output by output.
    pub(super) fn iter(&self) -> impl Iterator<Item = bool> {
        (0..self.inputs).flat_map(move |i| {
            let row = &self.words[i / BLOCK * self.groups()..][..self.groups()];
            row.as_flattened()[..self.outputs].iter().map(move |word| word >> (i % BLOCK) & 1 == 1)
        })
    }

    /// Number of bytes that [`Self::append_to`] appends.
    pub(super) fn packed_len(inputs: u128, outputs: u128) -> u128 {
        (inputs * outputs).div_ceil(8)
    }

    /// Appends the signs in the order of [`Self::iter`], eight to a byte, the first one in its
    /// lowest bit. What is left of the last byte is zero.
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + (self.inputs * self.outputs).div_ceil(8), 0);
        for (place, positive) in self.iter().enumerate() {
            bytes[start + place / 8] |= u8::from(positive) << (place % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_has_its_own_place() {
        for (inputs, outputs) in [(1, 1), (3, 5), (32, 16), (33, 17), (100, 10)] {
            for chosen in [0, inputs * outputs / 2, inputs * outputs - 1] {
                let bits = Bits::new(inputs, outputs, |i, j| i * outputs + j == chosen);
                let ones: u32 =
                    bits.words().as_flattened().iter().map(|word| word.count_ones()).sum();
                assert_eq!(ones, 1);
                assert!(bits.is_positive(chosen / outputs, chosen % outputs));
                assert_eq!(bits.iter().position(|positive| positive), Some(chosen));
                assert_eq!(bits.iter().count(), inputs * outputs);
            }
        }
    }

    #[test]
    fn bytes_come_back() {
        for (inputs, outputs) in [(1, 1), (3, 5), (32, 16), (33, 17), (100, 10)] {
            let bits = Bits::new(inputs, outputs, |i, j| (i * i + 3 * j + i * j) % 7 < 4);
            let mut bytes = vec![9];
            bits.append_to(&mut bytes);
            assert_eq!(bytes.len() as u128, 1 + Bits::packed_len(inputs as u128, outputs as u128));
            assert_eq!(Bits::unpacked(inputs, outputs, &bytes[1..]), bits);
        }
    }
}
