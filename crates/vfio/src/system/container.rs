//! Containers: the address space of devices, and the memory mapped there.

use super::call::{self, Call};
use card::memory::HostMemory;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use vfio_bindings::bindings::vfio::{
    vfio_info_cap_header, vfio_iommu_type1_dma_map, vfio_iommu_type1_dma_unmap,
    vfio_iommu_type1_info, vfio_iova_range, VFIO_API_VERSION, VFIO_DMA_MAP_FLAG_READ,
    VFIO_DMA_MAP_FLAG_WRITE, VFIO_IOMMU_INFO_CAPS, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE,
};

/// `VFIO_TYPE1v2_IOMMU`.
const TYPE1V2: u64 = 3;
/// Maximum size in bytes of the kernel's description of an IOMMU.
const MOST_INFO: u32 = 1 << 16;

/// An IOMMU's address space, and the memory mapped there.
pub(crate) struct Container {
    // Dropped before the memory: closing it removes every map.
    file: File,
    mapped: BTreeMap<u64, Arc<HostMemory>>,
}

impl Container {
    /// Opens `/dev/vfio/vfio`.
    pub(crate) fn open() -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/vfio/vfio")?;
        Ok(Self {
            file,
            mapped: BTreeMap::new(),
        })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether the kernel supports the interface version used here.
    pub(crate) fn is_known(&self) -> io::Result<bool> {
        let version = call::with_number(self.as_fd(), Call::GetApiVersion, 0)?;
        let type1 = call::with_number(self.as_fd(), Call::CheckExtension, TYPE1V2)?;
        Ok(version == VFIO_API_VERSION as i32 && type1 > 0)
    }

    /// Enables the IOMMU of the container, which must have a group.
    pub(crate) fn enable(&self) -> io::Result<()> {
        call::with_number(self.as_fd(), Call::SetIommu, TYPE1V2).map(|_| ())
    }

    /// Address ranges that can be mapped, in ascending order. Empty if the kernel does not report them.
    pub(crate) fn ranges(&self) -> io::Result<Vec<Range<u64>>> {
        // Allocated as 8-byte words, so that the structure is aligned.
        let mut answer = vec![0u64; size_of::<vfio_iommu_type1_info>().div_ceil(8)];
        loop {
            let bytes = 8 * answer.len() as u32;
            let info = answer.as_mut_ptr().cast::<vfio_iommu_type1_info>();
            // SAFETY: as large as `argsz` specifies, aligned, and valid for any bytes.
            let needed = unsafe {
                (*info).argsz = bytes;
                call::with(self.as_fd(), Call::IommuGetInfo, info)?;
                (*info).argsz
            };
            if needed <= bytes || needed > MOST_INFO {
                break;
            }
            answer = vec![0; needed.div_ceil(8) as usize];
        }
        let bytes: Vec<u8> = answer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(ranges_in(&bytes))
    }

    /// Maps memory for the device at a bus address.
    pub(crate) fn map(&mut self, address: u64, memory: Arc<HostMemory>) -> io::Result<()> {
        let bytes = memory.len();
        let start = memory.pointer(0, bytes).map_err(io::Error::other)?;
        let mut map = vfio_iommu_type1_dma_map {
            argsz: size_of::<vfio_iommu_type1_dma_map>() as u32,
            flags: VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
            vaddr: start as u64,
            iova: address,
            size: bytes as u64,
        };
        // SAFETY: the structure of this request; the memory is kept until its map is removed.
        unsafe { call::with(self.as_fd(), Call::IommuMapDma, &mut map)? };
        self.mapped.insert(address, memory);
        Ok(())
    }

    /// Removes the map at a bus address.
    pub(crate) fn unmap(&mut self, address: u64) -> io::Result<()> {
        let Some(memory) = self.mapped.get(&address) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut unmap = vfio_iommu_type1_dma_unmap {
            argsz: size_of::<vfio_iommu_type1_dma_unmap>() as u32,
            iova: address,
            size: memory.len() as u64,
            ..Default::default()
        };
        // SAFETY: the structure of this request, without the optional bitmap.
        unsafe { call::with(self.as_fd(), Call::IommuUnmapDma, &mut unmap)? };
        self.mapped.remove(&address);
        Ok(())
    }
}

/// Parses the ranges from the kernel's description of an IOMMU: a structure, then capabilities, each with the offset of
/// the next.
fn ranges_in(answer: &[u8]) -> Vec<Range<u64>> {
    let word = |at: usize| -> Option<u32> {
        let bytes = answer.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_ne_bytes)
    };
    let long = |at: usize| -> Option<u64> {
        let bytes = answer.get(at..at.checked_add(8)?)?;
        bytes.try_into().ok().map(u64::from_ne_bytes)
    };
    let flags = word(std::mem::offset_of!(vfio_iommu_type1_info, flags)).unwrap_or(0);
    let mut at = match flags & VFIO_IOMMU_INFO_CAPS {
        0 => 0,
        _ => word(std::mem::offset_of!(vfio_iommu_type1_info, cap_offset)).unwrap_or(0),
    } as usize;
    let mut ranges = Vec::new();
    // Bounded by the number of capabilities that fit, so that a cyclic list terminates.
    for _ in 0..answer.len() / size_of::<vfio_info_cap_header>() {
        let Some(header) = word(at).filter(|_| at > 0) else {
            break;
        };
        if header & 0xffff == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE {
            let first = at + size_of::<vfio_info_cap_header>() + 8;
            let count = word(first - 8).unwrap_or(0) as usize;
            let each = (0..count).map_while(|n| {
                let entry = first + n * size_of::<vfio_iova_range>();
                Some(long(entry)?..long(entry + 8)?.saturating_add(1))
            });
            ranges = each.collect();
        }
        at = word(at + 4).unwrap_or(0) as usize;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description with one list of ranges, whose header refers to itself as the next.
    fn answer(ranges: &[(u64, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<vfio_iommu_type1_info>()];
        let offset = bytes.len() as u32;
        bytes[4..8].copy_from_slice(&VFIO_IOMMU_INFO_CAPS.to_ne_bytes());
        bytes[16..20].copy_from_slice(&offset.to_ne_bytes());
        bytes.extend(VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE.to_ne_bytes());
        bytes.extend(offset.to_ne_bytes());
        bytes.extend((ranges.len() as u32).to_ne_bytes());
        bytes.extend([0; 4]);
        for (start, last) in ranges {
            bytes.extend(start.to_ne_bytes());
            bytes.extend(last.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn ranges_are_found_and_a_list_without_an_end_ends() {
        let all = answer(&[(0, 0xfedf_ffff), (0xfef0_0000, u64::MAX)]);
        let ranges = [0..0xfee0_0000, 0xfef0_0000..u64::MAX];
        assert_eq!(ranges_in(&all), ranges);
        assert_eq!(ranges_in(&all[..all.len() - 1]), ranges[..1]);
        assert!(ranges_in(&[]).is_empty());
        assert!(ranges_in(&all[..20]).is_empty());
    }
}
