//! The header of an array of NumPy, and the numbers behind it.
//!
//! An .npy file begins with `\x93NUMPY`, a version, and the length of a header, which is the text of
//! a Python dictionary with three keys:
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }
//! ```
//!
//! No more of Python than this is understood: nothing nests, so that no header takes long to read,
//! and a file says how many bytes it has before any are asked for.

use std::io::Read;

/// The first bytes of every .npy file.
const MAGIC: [u8; 6] = *b"\x93NUMPY";
/// The longest header that is read; NumPy has the same limit.
const LONGEST: usize = 10_000;
/// The most dimensions; NumPy has the same limit.
const MOST_DIMENSIONS: usize = 64;

/// What kind of numbers an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Unsigned,
    Signed,
    Float,
}

/// The type and the shape of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    /// As the file has it, e.g. `<f4`.
    pub(crate) descr: String,
    pub(crate) is_fortran: bool,
    pub(crate) shape: Vec<usize>,
}

impl Header {
    /// Reads a header, and nothing behind it.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        fill(reader, &mut start)?;
        if start[..6] != MAGIC {
            return Err("it is no .npy array: it does not begin with \\x93NUMPY".into());
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                fill(reader, &mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                fill(reader, &mut length)?;
                u32::from_le_bytes(length) as usize
            }
            version => {
                return Err(format!("version {version} of .npy is unknown: 1 to 3 are read"));
            }
        };
        if length > LONGEST {
            return Err(malformed(&format!(
                "it has {length} bytes, and at most {LONGEST} are read"
            )));
        }
        let mut text = vec![0; length];
        fill(reader, &mut text)?;
        let text = str::from_utf8(&text).map_err(|_| malformed("it is not text"))?;
        parse(text).map_err(|reason| malformed(&reason))
    }

    /// Kind of the numbers, and bytes of one, if these are known.
    pub(crate) fn kind(&self) -> Option<(Kind, usize)> {
        let text = self.descr.trim_start_matches(['<', '>', '|', '=']);
        let kind = match text.chars().next()? {
            'u' => Kind::Unsigned,
            'i' => Kind::Signed,
            'f' => Kind::Float,
            _ => return None,
        };
        match (kind, &text[1..]) {
            (Kind::Unsigned | Kind::Signed, "1") => Some((kind, 1)),
            (Kind::Unsigned | Kind::Signed, "2") => Some((kind, 2)),
            (_, "4") => Some((kind, 4)),
            (_, "8") => Some((kind, 8)),
            _ => None,
        }
    }

    /// Bytes of all numbers, each of which has `size`. None if no file is that long.
    pub(crate) fn bytes(&self, size: usize) -> Option<u64> {
        let count = self.shape.iter().try_fold(1u64, |count, &n| count.checked_mul(n as u64))?;
        count.checked_mul(size as u64)
    }

    /// The numbers in some bytes, the last index running fastest.
    pub(crate) fn numbers<const S: usize, T: Copy>(
        &self,
        bytes: &[u8],
        from_le_bytes: fn([u8; S]) -> T,
    ) -> Vec<T> {
        let is_big = self.descr.starts_with('>');
        let number = |&chunk: &[u8; S]| {
            let mut chunk = chunk;
            if is_big {
                chunk.reverse();
            }
            from_le_bytes(chunk)
        };
        let numbers: Vec<T> = bytes.as_chunks().0.iter().map(number).collect();
        if self.is_fortran { transposed(&numbers, &self.shape) } else { numbers }
    }
}

/// From the first index running fastest to the last one running fastest.
fn transposed<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
    let place = |mut index: usize| {
        let mut stride = values.len();
        let mut place = 0;
        for &size in shape.iter().rev() {
            stride /= size;
            place += index % size * stride;
            index /= size;
        }
        place
    };
    (0..values.len()).map(|index| values[place(index)]).collect()
}

fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> Result<(), String> {
    reader.read_exact(bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "its header is cut short".into(),
        _ => error.to_string(),
    })
}

fn malformed(reason: &str) -> String {
    format!(
        "its header cannot be used: {reason}; it must be a line like {{'descr': '<f4', \
         'fortran_order': False, 'shape': (100, 784)}}, as numpy.save writes it"
    )
}

/// The dictionary of a header.
fn parse(text: &str) -> Result<Header, String> {
    let mut rest = text.trim_ascii().strip_prefix('{').ok_or("it is no dictionary")?.trim_start();
    let (mut descr, mut is_fortran, mut shape) = (None, None, None);
    loop {
        if let Some(end) = rest.strip_prefix('}') {
            if !end.trim_ascii().is_empty() {
                return Err("something follows the dictionary".into());
            }
            break;
        }
        let (key, after) = string(rest).ok_or("a key is missing or is no text")?;
        let value = after.trim_start().strip_prefix(':');
        let value = value.ok_or_else(|| format!("there is no ':' after the key '{key}'"))?;
        let value = value.trim_start();
        let after = match key {
            "descr" if value.starts_with('[') => {
                return Err("the type has several fields, and one number is needed".into());
            }
            "descr" => {
                let (text, after) = string(value).ok_or("descr is no text")?;
                descr = Some(text.to_owned());
                after
            }
            "fortran_order" => {
                let is_true = value.strip_prefix("True").map(|after| (true, after));
                let is_false = || value.strip_prefix("False").map(|after| (false, after));
                let (flag, after) =
                    is_true.or_else(is_false).ok_or("fortran_order is neither True nor False")?;
                is_fortran = Some(flag);
                after
            }
            "shape" => {
                let (numbers, after) = tuple(value)?;
                shape = Some(numbers);
                after
            }
            key => return Err(format!("the key '{key}' is unknown")),
        };
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with('}') => {}
            None => return Err("there is neither ',' nor '}' after a value".into()),
        }
    }
    let missing = |key: &str| format!("the key '{key}' is missing");
    Ok(Header {
        descr: descr.ok_or_else(|| missing("descr"))?,
        is_fortran: is_fortran.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

/// A text in quotation marks, and what follows it.
fn string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote).filter(|(text, _)| !text.contains('\\'))
}

/// `(3, 4)`, and what follows it.
fn tuple(text: &str) -> Result<(Vec<usize>, &str), String> {
    let wrong = || "shape is no tuple of whole numbers like (100, 784)".to_owned();
    let (inner, after) =
        text.strip_prefix('(').and_then(|t| t.split_once(')')).ok_or_else(wrong)?;
    let mut parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    if parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    if parts.len() > MOST_DIMENSIONS {
        return Err(format!(
            "shape has {} dimensions, and {MOST_DIMENSIONS} are the most",
            parts.len()
        ));
    }
    // Python 2 wrote an L behind long integers.
    let number = |part: &&str| {
        let part = part.strip_suffix('L').unwrap_or(part);
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    };
    let numbers: Option<Vec<usize>> = parts.iter().map(number).collect();
    Ok((numbers.ok_or_else(wrong)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    fn read(text: &str) -> Result<Header, String> {
        Header::read(&mut encoded(2, text).as_slice())
    }

    #[test]
    fn headers_that_numpy_writes_are_read() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n";
        let header = Header { descr: "<f4".into(), is_fortran: false, shape: vec![3, 4] };
        for version in 1..=3 {
            assert_eq!(Header::read(&mut encoded(version, text).as_slice()), Ok(header.clone()));
        }
        assert_eq!((header.kind(), header.bytes(4)), (Some((Kind::Float, 4)), Some(48)));
        let header =
            read("{\"shape\": (7L,), \"fortran_order\": True, \"descr\": \"|u1\"}").unwrap();
        assert_eq!((header.shape.as_slice(), header.is_fortran), (&[7][..], true));
        assert_eq!(header.kind(), Some((Kind::Unsigned, 1)));
        assert_eq!(read("{'descr':'>i8','fortran_order':False,'shape':()}").unwrap().shape, [0; 0]);
    }

    #[test]
    fn big_endian_numbers_are_turned_round() {
        let header = read("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}").unwrap();
        assert_eq!(header.numbers(&[1, 2, 0xff, 0xff], i16::from_le_bytes), [258, -1]);
    }

    #[test]
    fn nested_headers_are_refused_at_once() {
        for text in [
            format!(
                "{{'descr': {}'<f4'{}, 'fortran_order': False, 'shape': (1,)}}",
                "[".repeat(24),
                "]".repeat(24)
            ),
            format!("{}{}", "{".repeat(18), "}".repeat(18)),
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {}", "(".repeat(5000)),
            "[".repeat(9000),
        ] {
            let start = std::time::Instant::now();
            let reason = read(&text).unwrap_err();
            assert!(start.elapsed().as_millis() < 100, "{text}");
            assert!(reason.contains("as numpy.save writes it"), "{reason}");
            assert!(reason.len() < 300, "{reason}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        for (text, told) in [
            ("", "no dictionary"),
            ("{}", "'descr' is missing"),
            ("{'descr': '<f4'", "neither ','"),
            ("{'descr': '<f4' 'shape': (1,)}", "neither ','"),
            ("{'descr': 4, 'fortran_order': False, 'shape': (1,)}", "descr is no text"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "several fields"),
            ("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "whole numbers"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1e9,)}", "whole numbers"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "whole"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "whole numbers"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "follows"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "'x' is unknown"),
            ("{'d\\'escr': '<f4'}", "no text"),
            ("{\u{e9}", "no text"),
        ] {
            let reason = read(text).unwrap_err();
            assert!(reason.contains(told), "{text}: {reason}");
        }
        let many = format!("{{'shape': ({})}}", "1,".repeat(65));
        assert!(read(&many).unwrap_err().contains("65 dimensions"));
        assert!(read(&" ".repeat(20_000)).unwrap_err().contains("20000 bytes"));
        let whole = encoded(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
        for length in 0..whole.len() {
            assert!(Header::read(&mut &whole[..length]).unwrap_err().contains("cut short"));
        }
        assert!(Header::read(&mut &b"PK\x03\x04garbage"[..]).unwrap_err().contains("no .npy"));
    }

    #[test]
    fn a_shape_beyond_all_files_has_no_size() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}";
        assert_eq!(read(text).unwrap().bytes(8), None);
    }
}
