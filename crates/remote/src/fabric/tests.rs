//! Checks the declarations of libfabric against its headers, and that one-sided accesses preserve every byte.

use super::super::wire::{Hello, Operation, ReplyHeader, RequestHeader, Status};
use super::super::{Export, RemoteError, RemoteMemory, RemoteServer};
use super::{functions, sys};
use std::io::{Read, Write};
use std::mem::offset_of;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

/// Providers that every machine with the library has.
const PROVIDERS: [&str; 2] = ["tcp", "shm"];

/// Reports that a test is skipped. Not by `eprintln!`, which is not shown for passing tests.
fn skip(why: &str) {
    let line = format!("skipped: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Whether the library is installed; reports a skip if not.
fn is_here() -> bool {
    let here = functions().is_ok();
    if !here {
        skip("one-sided accesses: libfabric is not installed (Debian: libfabric1)");
    }
    here
}

fn connect(provider: &str, server: &RemoteServer) -> Result<RemoteMemory, RemoteError> {
    let address = format!("fabric+{provider}://{}", server.address());
    RemoteMemory::connect(&address, Duration::from_secs(20))
}

#[test]
fn the_bindings_are_what_the_headers_say() {
    if !std::path::Path::new("/usr/include/rdma/fi_rma.h").exists() {
        skip("bindings against libfabric's headers: libfabric-dev is not installed");
        return;
    }
    let mut ours: Vec<(String, u64)> = Vec::new();
    macro_rules! offsets {
        ($($rust:ident = $c:literal: $($field:ident = $name:literal),*;)*) => {
            $($(ours.push((format!("offsetof({}, {})", $c, $name), offset_of!(sys::$rust, $field) as u64));)*)*
        };
    }
    offsets! {
        Fid = "struct fid": context = "context", ops = "ops";
        FidOps = "struct fi_ops": close = "close", bind = "bind", control = "control";
        Info = "struct fi_info": caps = "caps", mode = "mode", tx_attr = "tx_attr", ep_attr = "ep_attr",
            domain_attr = "domain_attr", fabric_attr = "fabric_attr";
        TxAttr = "struct fi_tx_attr": op_flags = "op_flags", size = "size";
        EpAttr = "struct fi_ep_attr": kind = "type", max_msg_size = "max_msg_size";
        DomainAttr = "struct fi_domain_attr": mr_mode = "mr_mode", mr_key_size = "mr_key_size";
        FabricAttr = "struct fi_fabric_attr": prov_name = "prov_name";
        Fabric = "struct fid_fabric": ops = "ops";
        FabricOps = "struct fi_ops_fabric": domain = "domain";
        Domain = "struct fid_domain": ops = "ops", mr = "mr";
        DomainOps = "struct fi_ops_domain": av_open = "av_open", cq_open = "cq_open", endpoint = "endpoint";
        MrOps = "struct fi_ops_mr": reg = "reg";
        Mr = "struct fid_mr": mem_desc = "mem_desc", key = "key";
        AvAttr = "struct fi_av_attr": count = "count", flags = "flags";
        AvOps = "struct fi_ops_av": insert = "insert";
        CqAttr = "struct fi_cq_attr": format = "format", wait_obj = "wait_obj", wait_set = "wait_set";
        CqOps = "struct fi_ops_cq": read = "read", readerr = "readerr";
        CqError = "struct fi_cq_err_entry": err = "err", err_data_size = "err_data_size";
        Ep = "struct fid_ep": cm = "cm", rma = "rma";
        CmOps = "struct fi_ops_cm": getname = "getname";
        RmaOps = "struct fi_ops_rma": read = "read", write = "write";
    }
    for (name, value) in [
        (
            "sizeof(struct fi_cq_err_entry)",
            size_of::<sys::CqError>() as u64,
        ),
        ("sizeof(struct fi_cq_attr)", size_of::<sys::CqAttr>() as u64),
        ("sizeof(struct fi_av_attr)", size_of::<sys::AvAttr>() as u64),
        ("FI_RMA", sys::RMA),
        ("FI_READ", sys::READ),
        ("FI_WRITE", sys::WRITE),
        ("FI_RECV", sys::RECV),
        ("FI_TRANSMIT", sys::TRANSMIT),
        ("FI_REMOTE_READ", sys::REMOTE_READ),
        ("FI_REMOTE_WRITE", sys::REMOTE_WRITE),
        ("FI_DELIVERY_COMPLETE", sys::DELIVERY_COMPLETE),
        ("FI_NUMERICHOST", sys::NUMERICHOST),
        ("FI_SOURCE", sys::SOURCE),
        ("FI_CONTEXT", sys::CONTEXT),
        ("FI_CONTEXT2", sys::CONTEXT2),
        ("FI_MR_LOCAL", sys::MR_LOCAL as u64),
        ("FI_MR_VIRT_ADDR", sys::MR_VIRT_ADDR as u64),
        ("FI_MR_ALLOCATED", sys::MR_ALLOCATED as u64),
        ("FI_MR_PROV_KEY", sys::MR_PROV_KEY as u64),
        ("FI_EP_RDM", sys::EP_RDM as u64),
        ("FI_AV_MAP", sys::AV_MAP as u64),
        ("FI_CQ_FORMAT_CONTEXT", sys::CQ_FORMAT_CONTEXT as u64),
        ("FI_WAIT_NONE", sys::WAIT_NONE as u64),
        ("FI_ENABLE", sys::ENABLE as u64),
        ("FI_EAGAIN", sys::EAGAIN as u64),
        ("FI_EAVAIL", sys::EAVAIL as u64),
    ] {
        ours.push((name.to_owned(), value));
    }
    let mut program = "#include <stddef.h>\n#include <rdma/fi_cm.h>\n#include <rdma/fi_errno.h>\n\
                       #include <rdma/fi_rma.h>\n"
        .to_owned();
    for (name, value) in &ours {
        program += &format!("_Static_assert({name} == {value}ull, \"{name}\");\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("layout.c");
    std::fs::write(&file, program).unwrap();
    let compiled = Command::new("cc").arg("-fsyntax-only").arg(&file).output();
    let compiled = compiled.unwrap();
    let told = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{told}");
}

#[test]
fn the_library_leaves_handlers_of_signals_alone() {
    let handlers = || -> Vec<usize> {
        let kept = super::Handlers::keep();
        kept.0
            .iter()
            .map(|(_, action)| action.sa_sigaction)
            .collect()
    };
    let before = handlers();
    let _ = functions();
    assert_eq!(before, handlers());
}

#[test]
fn one_sided_accesses_keep_every_byte() {
    if !is_here() {
        return;
    }
    for provider in PROVIDERS {
        let bytes = 6 << 20;
        let export = Export::memory(bytes).unwrap();
        let server = RemoteServer::listen(export, "127.0.0.1:0").unwrap();
        let mut memory = connect(provider, &server).unwrap();
        assert!(memory.is_writable() && memory.bytes() == bytes);
        // More than can be under way at a time.
        let data: Vec<u8> = (0..5_000_003u64).map(|i| (i * 7 + i / 257) as u8).collect();
        memory.write(5, &data).unwrap();
        let mut got = vec![0xaa; data.len() + 9];
        // Another client, by TCP, finds them there.
        let address = server.address().to_string();
        let mut plain = RemoteMemory::connect(&address, Duration::from_secs(20)).unwrap();
        plain.read(1, &mut got).unwrap();
        assert!(got[4..got.len() - 5] == data, "{provider}");
        assert!(got[..4] == [0; 4] && got[got.len() - 5..] == [0; 5]);
        plain.write(bytes - 3, b"end").unwrap();
        for (offset, count) in [(5, 1), (5, data.len()), (4321, 131_073)] {
            let mut got = vec![0; count];
            memory.read(offset, &mut got).unwrap();
            let at = offset as usize - 5;
            assert!(got[..] == data[at..at + count], "{provider}");
        }
        let mut end = [0; 3];
        memory.read(bytes - 3, &mut end).unwrap();
        assert_eq!(&end, b"end");
        let error = memory.read(bytes, &mut [0]).unwrap_err();
        assert!(matches!(error, RemoteError::OutOfRange { .. }), "{error}");
    }
    let server = RemoteServer::listen(Export::memory(10).unwrap(), "127.0.0.1:0").unwrap();
    for (provider, word) in [("tape", "tape"), ("x y", "no name of a provider")] {
        let error = connect(provider, &server).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_server_that_dies_is_an_error_and_the_next_one_serves() {
    if !is_here() {
        return;
    }
    for provider in PROVIDERS {
        let first = RemoteServer::listen(Export::memory(1000).unwrap(), "127.0.0.1:0").unwrap();
        let mut memory = connect(provider, &first).unwrap();
        memory.write(0, b"here").unwrap();
        drop(first);
        let error = memory.write(0, &[0; 10]).unwrap_err();
        assert!(
            matches!(error, RemoteError::Lost { .. }),
            "{provider}: {error}"
        );
        let error = memory.read(0, &mut [0; 10]).unwrap_err().to_string();
        assert!(error.contains("failed before"), "{error}");
        let second = RemoteServer::listen(Export::memory(1000).unwrap(), "127.0.0.1:0").unwrap();
        connect(provider, &second)
            .unwrap()
            .read(0, &mut [0; 10])
            .unwrap();
    }
}

/// A server between a client and a real one, which modifies the ticket.
fn liar(server: &RemoteServer, change: fn(&mut Vec<u8>)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let real = server.address();
    std::thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let mut server = std::net::TcpStream::connect(real).unwrap();
        let mut hello = [0; Hello::BYTES];
        server.read_exact(&mut hello).unwrap();
        // It has fewer bytes than it announces.
        let mut said = Hello::decode(&hello).unwrap();
        said.bytes += 1 << 20;
        client.write_all(&said.encode()).unwrap();
        let mut ask = [0; RequestHeader::BYTES + 3];
        client.read_exact(&mut ask).unwrap();
        server.write_all(&ask).unwrap();
        let ask = RequestHeader {
            operation: Operation::Fabric,
            tag: 1,
            key: said.key,
            offset: 0,
            bytes: 3,
        };
        let mut head = [0; ReplyHeader::BYTES];
        server.read_exact(&mut head).unwrap();
        let mut answer = ReplyHeader::decode(&head, &ask).unwrap();
        assert_eq!(answer.status, Status::Good);
        let mut ticket = vec![0; answer.bytes as usize];
        server.read_exact(&mut ticket).unwrap();
        change(&mut ticket);
        answer.bytes = ticket.len() as u32;
        client.write_all(&answer.encode()).unwrap();
        client.write_all(&ticket).unwrap();
        std::io::copy(&mut client, &mut server).unwrap();
    });
    address
}

#[test]
fn a_peer_that_lies_about_key_or_length_is_found_out() {
    if !is_here() {
        return;
    }
    let server = RemoteServer::listen(Export::memory(1000).unwrap(), "127.0.0.1:0").unwrap();
    let mut good = connect("tcp", &server).unwrap();
    good.write(0, &[7; 1000]).unwrap();
    let open = |change, offset| {
        let address = format!("fabric+tcp://{}", liar(&server, change));
        let patience = Duration::from_millis(1500);
        RemoteMemory::connect(&address, patience)
            .and_then(|mut memory| memory.write(offset, &[1; 9]))
    };
    // Another key; bytes that are not there; a ticket without a name.
    let wrong_key = open(|ticket| ticket[0] ^= 1, 0).unwrap_err();
    let too_far = open(|_| (), 5000).unwrap_err();
    let short = open(|ticket| ticket.truncate(12), 0).unwrap_err();
    for error in [wrong_key, too_far] {
        let told = matches!(
            error,
            RemoteError::Fabric { .. } | RemoteError::Lost { .. } | RemoteError::Silent { .. }
        );
        assert!(told, "{error}");
    }
    assert!(matches!(short, RemoteError::Lies { .. }), "{short}");
    let mut all = [0; 1000];
    good.read(0, &mut all).unwrap();
    assert!(all == [7; 1000]);
}
