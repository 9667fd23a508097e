//! A walk through what Parquet files are described with: Thrift, in its compact protocol.
//!
//! Nothing is built of what it meets. It is asked first, because whoever builds it makes room for as
//! many things as a file says there are, and goes as deep as a file says they lie.

/// The most that fields lie in one another.
const MOST_DEPTH: u32 = 32;

/// The types of the compact protocol that are told apart here.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Bytes that are walked through.
pub struct Walk<'b> {
    left: &'b [u8],
}

/// A field of a struct: its number and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its number.
    pub number: i64,
    kind: u8,
}

impl Field {
    /// Whether it is a 32-bit integer.
    pub fn is_i32(self) -> bool {
        self.kind == I32
    }

    /// Whether it is a list.
    pub fn is_list(self) -> bool {
        self.kind == LIST
    }

    /// Whether it is a struct.
    pub fn is_struct(self) -> bool {
        self.kind == STRUCT
    }

    /// Its value, if it is a boolean: that is part of its type.
    pub fn boolean(self) -> Option<bool> {
        match self.kind {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }
}

impl<'b> Walk<'b> {
    /// A walk from the first of these bytes on.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { left: bytes }
    }

    /// How many bytes are left.
    pub fn left_bytes(&self) -> usize {
        self.left.len()
    }

    /// The next field of a struct, where `last` is the number of the one before; nothing at its
    /// end.
    pub fn field(&mut self, last: &mut i64) -> Option<Option<Field>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        let number = match byte >> 4 {
            0 => self.integer()?,
            step => last.checked_add(i64::from(step))?,
        };
        *last = number;
        Some(Some(Field {
            number,
            kind: byte & 0xf,
        }))
    }

    /// Steps into a list of structs: how many there are.
    pub fn structs(&mut self) -> Option<usize> {
        let (kind, len) = self.list()?;
        (kind == STRUCT || len == 0).then_some(len)
    }

    /// An integer of any size.
    pub fn integer(&mut self) -> Option<i64> {
        let bits = self.varint()?;
        Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// Passes over what a field holds.
    pub fn skip(&mut self, field: Field) -> Option<()> {
        match field.boolean() {
            Some(_) => Some(()),
            None => self.skip_value(field.kind, 0),
        }
    }

    /// Passes over the fields of a struct.
    pub fn skip_struct(&mut self) -> Option<()> {
        self.skip_value(STRUCT, 0)
    }

    fn skip_value(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        match kind {
            TRUE | FALSE | 3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let len = self.varint()?;
                self.skip_bytes(usize::try_from(len).ok()?)
            }
            LIST | 10 => {
                let (kind, len) = self.list()?;
                (0..len).try_for_each(|_| self.skip_value(kind, depth + 1))
            }
            11 => {
                let len = self.varint()?;
                if len == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..len).try_for_each(|_| {
                    self.skip_value(kinds >> 4, depth + 1)?;
                    self.skip_value(kinds & 0xf, depth + 1)
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some(field) = self.field(&mut last)? {
                    if field.boolean().is_none() {
                        self.skip_value(field.kind, depth + 1)?;
                    }
                }
                Some(())
            }
            13 => self.skip_bytes(16),
            _ => None,
        }
    }

    /// The type of what a list holds, and how many there are. Each takes a byte at least.
    fn list(&mut self) -> Option<(u8, usize)> {
        let byte = self.byte()?;
        let len = match byte >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            len => usize::from(len),
        };
        (len <= self.left.len()).then_some((byte & 0xf, len))
    }

    /// Seven bits a byte, the lowest first.
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, left) = self.left.split_first()?;
        self.left = left;
        Some(*byte)
    }

    /// Passes over so many bytes.
    pub fn skip_bytes(&mut self, len: usize) -> Option<()> {
        self.left = self.left.get(len..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_others_of_every_type() {
        // 1: i32 -1; 2: "ab"; 4: true; 5: list of two i32; 21: struct with 1: i8.
        let bytes = [
            0x15, 1, 0x18, 2, b'a', b'b', 0x21, 0x19, 0x25, 2, 4, 0x0c, 42, 0x13, 9, 0, 0,
        ];
        let mut walk = Walk::new(&bytes);
        let (mut last, mut numbers) = (0, Vec::new());
        while let Some(field) = walk.field(&mut last).unwrap() {
            numbers.push(field.number);
            match field.number {
                1 => assert_eq!(walk.integer(), Some(-1)),
                _ => walk.skip(field).unwrap(),
            }
        }
        assert_eq!(numbers, [1, 2, 4, 5, 21]);
        assert_eq!(walk.left_bytes(), 0);
    }

    #[test]
    fn a_walk_ends_where_bytes_end_and_goes_only_so_deep() {
        assert_eq!(Walk::new(&[0x18, 200, 1, b'a']).skip_struct(), None);
        assert_eq!(
            Walk::new(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0x7f]).skip_struct(),
            None
        );
        assert_eq!(Walk::new(&[0x1c; 100_000]).skip_struct(), None);
        assert_eq!(Walk::new(&[0xff; 20]).varint(), None);
    }
}
