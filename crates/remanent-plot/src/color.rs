//! Colours: a palette for lines and marks, a scale for maps.

use std::fmt;

/// Okabe and Ito's colours, told apart with every common colour blindness, in
/// an order that keeps neighbours distinct in grey too. Their yellow is left
/// out: a thin yellow line on white is hard to see. Indigo, brown and wine
/// follow: as far from the seven, and from one another, as the closest two of
/// the seven are, with and without red or green receptors.
const PALETTE: [[u8; 3]; 10] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
    [0x00, 0x00, 0x00],
    [0x33, 0x22, 0x88],
    [0x99, 0x66, 0x33],
    [0x88, 0x22, 0x55],
];

/// Anchors of viridis at equal distances, between which colours are interpolated.
pub(crate) const VIRIDIS: [[u8; 3]; 11] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x24, 0x75],
    [0x41, 0x44, 0x87],
    [0x35, 0x5f, 0x8d],
    [0x2a, 0x78, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x22, 0xa8, 0x84],
    [0x44, 0xbf, 0x70],
    [0x7a, 0xd1, 0x51],
    [0xbd, 0xdf, 0x26],
    [0xfd, 0xe7, 0x25],
];

/// The colour of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// The n-th colour of the palette, counted from 0; the palette repeats after ten.
    Palette(usize),
    /// An explicit colour: red, green, blue.
    Rgb(u8, u8, u8),
}

impl Default for Color {
    fn default() -> Self {
        Self::Palette(0)
    }
}

impl Color {
    /// A grey for lines that only guide the eye.
    pub const GREY: Self = Self::Rgb(0x59, 0x59, 0x59);

    fn channels(self) -> [u8; 3] {
        match self {
            Self::Palette(index) => PALETTE[index % PALETTE.len()],
            Self::Rgb(red, green, blue) => [red, green, blue],
        }
    }

    /// Whether a line in this colour is lost on white.
    pub(crate) fn is_pale(self) -> bool {
        let [red, green, blue] = self.channels().map(f64::from);
        0.30 * red + 0.59 * green + 0.11 * blue > 205.0
    }

    /// The colour of the map scale at `position` in 0..=1.
    pub(crate) fn viridis(position: f64) -> Self {
        let at = position.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
        let below = (at as usize).min(VIRIDIS.len() - 2);
        let part = at - below as f64;
        let mix = |channel: usize| {
            let from = f64::from(VIRIDIS[below][channel]);
            let to = f64::from(VIRIDIS[below + 1][channel]);
            (from + part * (to - from)).round() as u8
        };
        Self::Rgb(mix(0), mix(1), mix(2))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.channels();
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn palette_repeats() {
        assert_eq!(Color::Palette(0).to_string(), "#0072b2");
        assert_eq!(Color::Palette(6).to_string(), "#000000");
        assert_eq!(Color::Palette(11).to_string(), Color::Palette(1).to_string());
        let different: BTreeSet<String> = (0..10).map(|k| Color::Palette(k).to_string()).collect();
        assert_eq!(different.len(), 10);
    }

    #[test]
    fn only_colours_for_maps_are_pale() {
        assert!(Color::Rgb(255, 255, 255).is_pale());
        assert!((0..PALETTE.len()).all(|index| !Color::Palette(index).is_pale()));
    }

    #[test]
    fn viridis_meets_its_anchors() {
        assert_eq!(Color::viridis(0.0).to_string(), "#440154");
        assert_eq!(Color::viridis(0.5).to_string(), "#21918c");
        assert_eq!(Color::viridis(1.0).to_string(), "#fde725");
        assert_eq!(Color::viridis(7.0), Color::viridis(1.0));
    }
}
