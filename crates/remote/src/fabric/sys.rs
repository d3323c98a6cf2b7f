//! The used part of libfabric's interface, written by hand from the headers of version 1.17. Structures that the
//! library allocates are declared up to the last used field; those that the caller allocates are complete.
//! `fabric::tests` compares offsets and values with the headers where they are installed.

use std::ffi::{c_char, c_int, c_void};

/// Requested version of the interface: 1.11.
pub(super) const VERSION: u32 = 1 << 16 | 11;
pub(super) const RMA: u64 = 1 << 2;
pub(super) const READ: u64 = 1 << 8;
pub(super) const WRITE: u64 = 1 << 9;
pub(super) const RECV: u64 = 1 << 10;
pub(super) const TRANSMIT: u64 = 1 << 11;
pub(super) const REMOTE_READ: u64 = 1 << 12;
pub(super) const REMOTE_WRITE: u64 = 1 << 13;
pub(super) const DELIVERY_COMPLETE: u64 = 1 << 28;
pub(super) const NUMERICHOST: u64 = 1 << 55;
pub(super) const SOURCE: u64 = 1 << 57;
pub(super) const CONTEXT: u64 = 1 << 59;
pub(super) const CONTEXT2: u64 = 1 << 52;
pub(super) const MR_LOCAL: c_int = 1 << 2;
pub(super) const MR_VIRT_ADDR: c_int = 1 << 4;
pub(super) const MR_ALLOCATED: c_int = 1 << 5;
pub(super) const MR_PROV_KEY: c_int = 1 << 6;
pub(super) const EP_RDM: c_int = 3;
pub(super) const AV_MAP: c_int = 1;
pub(super) const CQ_FORMAT_CONTEXT: c_int = 1;
pub(super) const WAIT_NONE: c_int = 0;
pub(super) const ENABLE: c_int = 6;
pub(super) const EAGAIN: isize = 11;
pub(super) const EAVAIL: isize = 259;

/// Every object begins with one.
#[repr(C)]
pub(super) struct Fid {
    pub(super) class: usize,
    pub(super) context: *mut c_void,
    pub(super) ops: *const FidOps,
}

#[repr(C)]
pub(super) struct FidOps {
    pub(super) size: usize,
    pub(super) close: Option<unsafe extern "C" fn(*mut Fid) -> c_int>,
    pub(super) bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    pub(super) control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
}

#[repr(C)]
pub(super) struct Info {
    pub(super) next: *mut Info,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: usize,
    pub(super) dest_addrlen: usize,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: *mut Fid,
    pub(super) tx_attr: *mut TxAttr,
    pub(super) rx_attr: *mut c_void,
    pub(super) ep_attr: *mut EpAttr,
    pub(super) domain_attr: *mut DomainAttr,
    pub(super) fabric_attr: *mut FabricAttr,
}

#[repr(C)]
pub(super) struct TxAttr {
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) op_flags: u64,
    pub(super) msg_order: u64,
    pub(super) comp_order: u64,
    pub(super) inject_size: usize,
    pub(super) size: usize,
}

#[repr(C)]
pub(super) struct EpAttr {
    pub(super) kind: c_int,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: usize,
}

#[repr(C)]
pub(super) struct DomainAttr {
    pub(super) domain: *mut Domain,
    pub(super) name: *mut c_char,
    pub(super) threading: c_int,
    pub(super) control_progress: c_int,
    pub(super) data_progress: c_int,
    pub(super) resource_mgmt: c_int,
    pub(super) av_type: c_int,
    pub(super) mr_mode: c_int,
    pub(super) mr_key_size: usize,
}

#[repr(C)]
pub(super) struct FabricAttr {
    pub(super) fabric: *mut Fabric,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
}

#[repr(C)]
pub(super) struct Fabric {
    pub(super) fid: Fid,
    pub(super) ops: *const FabricOps,
}

#[repr(C)]
pub(super) struct FabricOps {
    pub(super) size: usize,
    pub(super) domain: Option<
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    >,
}

#[repr(C)]
pub(super) struct Domain {
    pub(super) fid: Fid,
    pub(super) ops: *const DomainOps,
    pub(super) mr: *const MrOps,
}

#[repr(C)]
pub(super) struct DomainOps {
    pub(super) size: usize,
    pub(super) av_open:
        Option<unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int>,
    pub(super) cq_open:
        Option<unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int>,
    pub(super) endpoint:
        Option<unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int>,
}

/// Domain, start, bytes, access, offset, wanted key, flags, the region, context.
type Register = unsafe extern "C" fn(
    *mut Fid,
    *const c_void,
    usize,
    u64,
    u64,
    u64,
    u64,
    *mut *mut Mr,
    *mut c_void,
) -> c_int;

#[repr(C)]
pub(super) struct MrOps {
    pub(super) size: usize,
    pub(super) reg: Option<Register>,
}

#[repr(C)]
pub(super) struct Mr {
    pub(super) fid: Fid,
    pub(super) mem_desc: *mut c_void,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct AvAttr {
    pub(super) kind: c_int,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: usize,
    pub(super) ep_per_node: usize,
    pub(super) name: *const c_char,
    pub(super) map_addr: *mut c_void,
    pub(super) flags: u64,
}

#[repr(C)]
pub(super) struct Av {
    pub(super) fid: Fid,
    pub(super) ops: *const AvOps,
}

#[repr(C)]
pub(super) struct AvOps {
    pub(super) size: usize,
    pub(super) insert: Option<
        unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
    >,
}

#[repr(C)]
pub(super) struct CqAttr {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: c_int,
    pub(super) wait_obj: c_int,
    pub(super) signaling_vector: c_int,
    pub(super) wait_cond: c_int,
    pub(super) wait_set: *mut c_void,
}

#[repr(C)]
pub(super) struct Cq {
    pub(super) fid: Fid,
    pub(super) ops: *const CqOps,
}

#[repr(C)]
pub(super) struct CqOps {
    pub(super) size: usize,
    pub(super) read: Option<unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize>,
    pub(super) readfrom: *const c_void,
    pub(super) readerr: Option<unsafe extern "C" fn(*mut Cq, *mut CqError, u64) -> isize>,
}

#[repr(C)]
pub(super) struct CqError {
    pub(super) op_context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: usize,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: usize,
}

#[repr(C)]
pub(super) struct Ep {
    pub(super) fid: Fid,
    pub(super) ops: *const c_void,
    pub(super) cm: *const CmOps,
    pub(super) msg: *const c_void,
    pub(super) rma: *const RmaOps,
}

#[repr(C)]
pub(super) struct CmOps {
    pub(super) size: usize,
    pub(super) setname: *const c_void,
    pub(super) getname: Option<unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int>,
}

/// Endpoint, local bytes, how many, their descriptor, peer, address there, key, context.
pub(super) type Move = unsafe extern "C" fn(
    *mut Ep,
    *mut c_void,
    usize,
    *mut c_void,
    u64,
    u64,
    u64,
    *mut c_void,
) -> isize;

#[repr(C)]
pub(super) struct RmaOps {
    pub(super) size: usize,
    pub(super) read: Option<Move>,
    pub(super) readv: *const c_void,
    pub(super) readmsg: *const c_void,
    pub(super) write: Option<Move>,
}

pub(super) type GetInfo = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Info,
    *mut *mut Info,
) -> c_int;
pub(super) type FreeInfo = unsafe extern "C" fn(*mut Info);
pub(super) type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
pub(super) type OpenFabric =
    unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
pub(super) type StrError = unsafe extern "C" fn(c_int) -> *const c_char;
