//! Records as bytes, for a store that has no columns.
//!
//! Invariant: bytes of another version, or of another length, are no record and never a wrong one.

use stave_block::{CacheEntry, LayerRecord, NodeRecord, Ttl};

const VERSION: u8 = 2;

/// Reads values one after the other; `None` from where the bytes end.
struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn double(&mut self) -> Option<f64> {
        self.take().map(f64::from_be_bytes)
    }

    fn single(&mut self) -> Option<f32> {
        self.take().map(f32::from_be_bytes)
    }
}

pub(super) fn pack_node(node: &NodeRecord) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(72);
    bytes.push(VERSION);
    bytes.extend(node.child.to_be_bytes());
    bytes.extend(node.visits.to_be_bytes());
    bytes.extend(node.last_seen.to_be_bytes());
    bytes.extend(node.gaps.iter().chain(&node.lineage).flat_map(|count| count.to_be_bytes()));
    bytes.push(u8::from(node.branched) | u8::from(node.tail) << 1);
    if let Some(entry) = node.entry {
        bytes.push(u8::from(entry.ttl == Ttl::Long));
        bytes.extend(entry.readable.to_be_bytes());
        bytes.extend(entry.expires.to_be_bytes());
    }
    bytes
}

pub(super) fn unpack_node(prefix: u128, bytes: &[u8]) -> Option<NodeRecord> {
    let mut reader = Reader(bytes);
    if reader.byte()? != VERSION {
        return None;
    }
    let child = u128::from_be_bytes(reader.take()?);
    let visits = u32::from_be_bytes(reader.take()?);
    let last_seen = reader.double()?;
    let gaps = [reader.single()?, reader.single()?, reader.single()?];
    let lineage = [reader.single()?, reader.single()?];
    let flags = reader.byte()?;
    let entry = match reader.byte() {
        None => None,
        Some(long) => {
            let ttl = if long == 1 { Ttl::Long } else { Ttl::Short };
            Some(CacheEntry { ttl, readable: reader.double()?, expires: reader.double()? })
        }
    };
    let (branched, tail) = (flags & 1 != 0, flags & 2 != 0);
    let node = NodeRecord { prefix, visits, last_seen, gaps, child, branched, tail, lineage, entry };
    reader.0.is_empty().then_some(node)
}

pub(super) fn pack_layer(layer: &LayerRecord) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(49);
    bytes.push(VERSION);
    bytes.extend(layer.last_seen.to_be_bytes());
    bytes.extend(layer.counts.iter().flat_map(|count| count.to_be_bytes()));
    bytes
}

pub(super) fn unpack_layer(profile: u64, code: u32, bytes: &[u8]) -> Option<LayerRecord> {
    let mut reader = Reader(bytes);
    if reader.byte()? != VERSION {
        return None;
    }
    let last_seen = reader.double()?;
    let mut counts = [0.0; 5];
    for count in &mut counts {
        *count = reader.double()?;
    }
    reader.0.is_empty().then_some(LayerRecord { profile, code, last_seen, counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_packed_and_nothing_else_is_one() {
        let entry = CacheEntry { ttl: Ttl::Long, readable: 3.5, expires: 3603.5 };
        for entry in [None, Some(entry)] {
            let node = NodeRecord {
                prefix: 7,
                visits: 3,
                last_seen: 1.5,
                gaps: [1.0, 0.5, 0.25],
                child: u128::MAX,
                branched: true,
                tail: false,
                lineage: [2.0, 1.0],
                entry,
            };
            let bytes = pack_node(&node);
            assert_eq!(unpack_node(7, &bytes), Some(node));
            assert_eq!(unpack_node(7, &bytes[..bytes.len() - 1]), None);
            assert_eq!(unpack_node(7, &[&bytes[..], &[0]].concat()), None);
            assert_eq!(unpack_node(7, &[&[9], &bytes[1..]].concat()), None);
        }
        let layer = LayerRecord { profile: 1, code: 5, last_seen: 2.0, counts: [1.0, 2.0, 3.0, 4.0, 5.0] };
        let bytes = pack_layer(&layer);
        assert_eq!(unpack_layer(1, 5, &bytes), Some(layer));
        assert_eq!(unpack_layer(1, 5, &bytes[1..]), None);
        assert_eq!(unpack_layer(1, 5, &[]), None);
    }
}
