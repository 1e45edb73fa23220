//! Reads Protobuf's wire format from a borrowed slice.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>.

use thiserror::Error;

/// Maximum nesting of groups, as in Google's own decoders.
const MAX_DEPTH: usize = 100;

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    #[error("the record ends in the middle of a field")]
    Truncated,
    #[error("a number is longer than 10 bytes")]
    Varint,
    #[error("a field has no valid number")]
    Tag,
    #[error("a field has an unknown wire type")]
    WireType,
    #[error("groups do not match")]
    Group,
    #[error("groups nest too deep")]
    Depth,
    #[error("a text is not UTF-8")]
    Utf8,
}

/// The layout of the bytes after a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireType {
    Varint,
    Fixed64,
    Bytes,
    StartGroup,
    EndGroup,
    Fixed32,
}

/// The bytes of a field, together with the bytes after the field in the record. Copying a fixed number of bytes is much
/// faster than copying a variable number. So a short field is copied with the bytes after it, and the extra bytes are
/// cut off.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    all: &'a [u8],
    length: usize,
}

/// Fields up to this length in bytes are copied with the bytes after them; most names, hosts and ids are shorter.
const STEP: usize = 32;

impl<'a> Piece<'a> {
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        &self.all[..self.length]
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        match self.all.first_chunk() {
            Some(word) if self.length < 16 => {
                let own = u128::from_le_bytes(*word) & ((1 << (8 * self.length)) - 1);
                own & u128::from_le_bytes([0x80; 16]) == 0
            }
            _ => self.bytes().is_ascii(),
        }
    }

    #[inline(always)]
    pub fn append_to(self, bytes: &mut Vec<u8>) {
        match self.all.first_chunk::<STEP>() {
            Some(step) if self.length <= STEP => {
                let end = bytes.len() + self.length;
                bytes.extend_from_slice(step);
                bytes.truncate(end);
            }
            _ => bytes.extend_from_slice(self.bytes()),
        }
    }
}

/// Reads fields from the beginning of a slice. After an error, the reader must not be used any more.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, WireError> {
        match self.rest {
            [first, rest @ ..] if *first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            _ => self.long_varint(),
        }
    }

    /// Reads a number that takes several bytes; each byte contains seven bits of the number. The bytes of most numbers
    /// fit into one 64-bit word, which is read in one step.
    #[inline]
    fn long_varint(&mut self) -> Result<u64, WireError> {
        let Some((word, _)) = self.rest.split_first_chunk() else {
            return self.varint_bytewise();
        };
        let word = u64::from_le_bytes(*word);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.varint_bytewise();
        }
        let bits = ends.trailing_zeros();
        let kept = word & (u64::MAX >> (63 - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
        let pairs = (kept & 0x007f_007f_007f_007f) | ((kept & 0x7f00_7f00_7f00_7f00) >> 1);
        let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
        self.rest = &self.rest[bits as usize / 8 + 1..];
        Ok((fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4))
    }

    #[cold]
    fn varint_bytewise(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for (index, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                if index == 9 && *byte > 1 {
                    return Err(WireError::Varint);
                }
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 {
            WireError::Truncated
        } else {
            WireError::Varint
        })
    }

    /// Reads the number and the wire type of the next field.
    #[inline(always)]
    pub fn tag(&mut self) -> Result<(u32, WireType), WireError> {
        let tag = u32::try_from(self.varint()?).map_err(|_| WireError::Tag)?;
        let wire_type = match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Bytes,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return Err(WireError::WireType),
        };
        if tag >> 3 == 0 {
            Err(WireError::Tag)
        } else {
            Ok((tag >> 3, wire_type))
        }
    }

    #[inline]
    pub fn fixed32(&mut self) -> Result<[u8; 4], WireError> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    #[inline]
    pub fn fixed64(&mut self) -> Result<[u8; 8], WireError> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    /// Reads the bytes of a length-delimited field.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
        let (head, rest) = self.rest.split_at_checked(length).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// Reads the text of a length-delimited field.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, WireError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| WireError::Utf8)
    }

    /// Reads a length-delimited field as a `Piece`, which also contains the bytes after the field in the record.
    #[inline]
    pub fn piece(&mut self) -> Result<Piece<'a>, WireError> {
        let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
        let all = self.rest;
        self.rest = all.get(length..).ok_or(WireError::Truncated)?;
        Ok(Piece { all, length })
    }

    /// Reads the text of a length-delimited field as a `Piece`; fails if the text is not UTF-8.
    #[inline(always)]
    pub fn text_piece(&mut self) -> Result<Piece<'a>, WireError> {
        let piece = self.piece()?;
        if !piece.is_ascii() && std::str::from_utf8(piece.bytes()).is_err() {
            return Err(WireError::Utf8);
        }
        Ok(piece)
    }

    /// Skips the value of a field.
    pub fn skip(&mut self, number: u32, wire_type: WireType) -> Result<(), WireError> {
        match wire_type {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.fixed64().map(drop),
            WireType::Fixed32 => self.fixed32().map(drop),
            WireType::Bytes => self.bytes().map(drop),
            WireType::StartGroup => self.skip_group(number),
            WireType::EndGroup => Err(WireError::Group),
        }
    }

    fn skip_group(&mut self, number: u32) -> Result<(), WireError> {
        let mut open = vec![number];
        while let Some(innermost) = open.last().copied() {
            match self.tag()? {
                (inner, WireType::StartGroup) if open.len() < MAX_DEPTH => open.push(inner),
                (_, WireType::StartGroup) => return Err(WireError::Depth),
                (inner, WireType::EndGroup) if inner == innermost => drop(open.pop()),
                (_, WireType::EndGroup) => return Err(WireError::Group),
                (inner, wire_type) => self.skip(inner, wire_type)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_are_read() {
        for (bytes, expected) in [
            (&[0u8][..], Ok(0)),
            (&[0x96, 0x01], Ok(150)),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                Ok(u64::MAX),
            ),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
                Err(WireError::Varint),
            ),
            (&[0xff; 11], Err(WireError::Varint)),
            (&[0x80], Err(WireError::Truncated)),
            (&[], Err(WireError::Truncated)),
        ] {
            assert_eq!(Reader::new(bytes).varint(), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn groups_are_skipped_to_their_own_end() {
        // Field 1 starts a group that holds field 2 = 5 and an inner group 3; then field 4 = 1.
        let bytes = [0x0b, 0x10, 0x05, 0x1b, 0x1c, 0x0c, 0x20, 0x01];
        let mut reader = Reader::new(&bytes);
        let (number, wire_type) = reader.tag().unwrap();
        reader.skip(number, wire_type).unwrap();

        assert_eq!(reader.tag(), Ok((4, WireType::Varint)));
    }

    #[test]
    fn wrong_groups_are_errors() {
        let deep = [0x0bu8; 200];
        for (bytes, expected) in [
            (&[0x0bu8, 0x14][..], WireError::Group),
            (&[0x0c], WireError::Group),
            (&deep, WireError::Depth),
            (&[0x0b], WireError::Truncated),
        ] {
            let mut reader = Reader::new(bytes);
            let (number, wire_type) = reader.tag().unwrap();
            assert_eq!(reader.skip(number, wire_type), Err(expected), "{bytes:x?}");
        }
    }
}
