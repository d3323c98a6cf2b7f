//! Does a real program get the right bytes, and a clear error when it cannot? Every test runs on the
//! functional card and on the simulated one.

use simcard::SimCard;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tombolo::io::{BlockingIo, Direction, FileIo, Transfer, TransferId};
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, Picoseconds, SimOptions, Slot, SlotId, SpacePlacement, Stripe, VirtAddr,
};

fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

fn simulated(card_memory: Option<u64>) -> Box<dyn card::Card> {
    let mut options = SimOptions::named("f1").unwrap();
    options.channel_bytes = card_memory.map(|bytes| bytes / u64::from(options.shell.channels));
    Box::new(SimCard::open(options, |_| {}).unwrap())
}

/// Runs a test on every kind of card.
fn on_each_card(test: impl Fn(Card, &Path)) {
    let cards: [Box<dyn card::Card>; 2] = [
        Box::new(FunctionalCard::new(FunctionalConfig::default())),
        simulated(None),
    ];
    for raw in cards {
        let folder = TempDir::new().unwrap();
        eprintln!("on {}", raw.description().name);
        test(
            Card::new(raw, OwnerOptions::default()).unwrap(),
            folder.path(),
        );
    }
}

fn bytes(count: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn run_copy(
    card: &Card,
    space: &AddressSpace,
    input: VirtAddr,
    output: VirtAddr,
    bytes: u64,
) -> Result<Slot, Error> {
    let slot = card.load(SlotId(0), kernel("copy"), space)?;
    slot.set_pointer("input", input)?;
    slot.set_pointer("output", output)?;
    slot.set("bytes", bytes)?;
    slot.start()?;
    slot.wait(Some(Picoseconds::from_millis(100)), |_| Continue::Yes)?;
    Ok(slot)
}

fn copy_files(card: &Card, folder: &Path, content: &[u8]) -> (PathBuf, AddressSpace, Mapping) {
    copy_files_in(card, card.create_space().unwrap(), folder, content)
}

fn copy_files_in(
    card: &Card,
    space: AddressSpace,
    folder: &Path,
    content: &[u8],
) -> (PathBuf, AddressSpace, Mapping) {
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, content).unwrap();
    let input = space.map_file(&from, MapOptions::read_only()).unwrap();
    let output = space
        .map_file(&to, MapOptions::create(input.bytes()))
        .unwrap();
    run_copy(
        card,
        &space,
        input.address(),
        output.address(),
        input.bytes(),
    )
    .unwrap();
    input.unmap().unwrap();
    (to, space, output)
}

#[test]
fn odd_lengths_arrive_whole() {
    on_each_card(|card, folder| {
        for length in [1, 63, 64, 65, 4097, (2 << 20) - 1, (2 << 20) + 1] {
            let content = bytes(length);
            let (to, _space, output) = copy_files(&card, folder, &content);
            output.unmap().unwrap();
            assert!(fs::read(&to).unwrap() == content, "{length} bytes differ");
        }
    });
}

#[test]
fn synced_bytes_are_in_the_file_while_mapped() {
    on_each_card(|card, folder| {
        let content = bytes(10_000);
        let (to, _space, output) = copy_files(&card, folder, &content);
        assert!(
            fs::read(&to).unwrap() != content,
            "nothing was written back yet"
        );
        output.sync().unwrap();
        assert!(fs::read(&to).unwrap() == content);
    });
}

#[test]
fn a_dropped_space_writes_back() {
    on_each_card(|card, folder| {
        let content = bytes(5000);
        let (to, space, output) = copy_files(&card, folder, &content);
        drop(output);
        drop(space);
        assert!(fs::read(&to).unwrap() == content);
    });
}

#[test]
fn only_what_was_written_goes_back() {
    on_each_card(|card, folder| {
        // The kernel copies 100 bytes over the start of a longer file; the rest stays.
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, bytes(100)).unwrap();
        let old = vec![0xee; 5_000_001];
        fs::write(&to, &old).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let output = space.map_file(&to, MapOptions::read_write()).unwrap();
        run_copy(&card, &space, input.address(), output.address(), 100).unwrap();
        output.unmap().unwrap();
        let new = fs::read(&to).unwrap();
        assert_eq!(new.len(), old.len());
        assert!(new[..100] == bytes(100) && new[100..] == old[100..]);
        let report = card.report().unwrap();
        assert_eq!(
            report.paging.pages_written, 1,
            "only the dirty page goes back"
        );
    });
}

#[test]
fn offsets_need_no_alignment_to_pages() {
    on_each_card(|card, folder| {
        let content = bytes(3 << 20);
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, &content).unwrap();
        let space = card.create_space().unwrap();
        let offset = (2 << 20) - 640;
        let options = MapOptions::read_only().offset(offset as u64).bytes(100_000);
        let input = space.map_file(&from, options).unwrap();
        let output = space.map_file(&to, MapOptions::create(100_000)).unwrap();
        run_copy(&card, &space, input.address(), output.address(), 100_000).unwrap();
        output.unmap().unwrap();
        assert!(fs::read(&to).unwrap() == content[offset..offset + 100_000]);
    });
}

#[test]
fn encryption_agrees_with_openssl() {
    on_each_card(|card, folder| {
        let (from, to) = (folder.join("plain"), folder.join("cipher"));
        fs::write(&from, bytes(70_001)).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let output = space
            .map_file(&to, MapOptions::create(input.bytes()))
            .unwrap();
        let slot = card.load(SlotId(0), kernel("aes256ctr"), &space).unwrap();
        slot.set_pointer("input", input.address()).unwrap();
        slot.set_pointer("output", output.address()).unwrap();
        slot.set("bytes", input.bytes()).unwrap();
        let key: Vec<u8> = (0..32).collect();
        slot.set_bytes("key", &key).unwrap();
        slot.set_bytes("iv", &[0xff; 16]).unwrap();
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
        output.unmap().unwrap();
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let judge = Command::new("openssl")
            .args([
                "enc",
                "-aes-256-ctr",
                "-K",
                &hex,
                "-iv",
                &"ff".repeat(16),
                "-in",
            ])
            .arg(&from)
            .output()
            .unwrap();
        assert!(judge.stdout == fs::read(&to).unwrap());
    });
}

#[test]
fn a_card_smaller_than_the_data_evicts() {
    let content = bytes(9 << 20);
    let folder = TempDir::new().unwrap();
    // Five frames of 2 MiB and the page table, for 18 MiB of input and output.
    let card = Card::new(simulated(Some(12 << 20)), OwnerOptions::default()).unwrap();
    let (to, _space, output) = copy_files(&card, folder.path(), &content);
    output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == content);
    let paging = card.report().unwrap().paging;
    assert!(paging.evictions > 0, "{paging:?}");
}

/// Spaces on a channel of their own, and striped with granules below and above a burst, on a card that
/// has to evict.
#[test]
fn the_place_of_a_space_changes_no_byte() {
    const MEMORY: u64 = 12 << 20;
    let striped = |granule| SpacePlacement::Interleaved {
        first: 0,
        stripe: Stripe::new(granule, 2).unwrap(),
    };
    let functional = FunctionalConfig {
        channel_bytes: MEMORY / 2,
        ..FunctionalConfig::default()
    };
    let cards: [Box<dyn card::Card>; 2] = [
        Box::new(FunctionalCard::new(functional)),
        simulated(Some(MEMORY)),
    ];
    // Of the largest granule, each channel gets three.
    let content = bytes((6 << 20) + 1);
    for raw in cards {
        let name = raw.description().name.clone();
        let card = Card::new(raw, OwnerOptions::default()).unwrap();
        let mut written = vec![0; 2];
        for placement in [SpacePlacement::Channel(1), striped(64), striped(1 << 20)] {
            let folder = TempDir::new().unwrap();
            let space = card.create_space_on(placement).unwrap();
            let (to, _space, output) = copy_files_in(&card, space, folder.path(), &content);
            output.unmap().unwrap();
            assert!(fs::read(&to).unwrap() == content, "{name}, {placement}");
            let channels = card.report().unwrap().statistics.channels;
            let more: Vec<u64> = (0..2)
                .map(|channel| channels[channel].rows_written - written[channel])
                .collect();
            written = channels
                .iter()
                .map(|channel| channel.rows_written)
                .collect();
            match placement {
                SpacePlacement::Channel(_) => assert_eq!(more[0], 0, "{name}, {placement}"),
                _ => assert!(more[0].abs_diff(more[1]) < more[0] / 4, "{name}, {more:?}"),
            }
        }
        assert!(card.report().unwrap().paging.evictions > 0, "{name}");
    }
}

#[test]
fn a_space_can_be_used_again_and_again() {
    on_each_card(|card, folder| {
        for round in 0..6 {
            let content = bytes(3000 + round);
            let (to, space, output) = copy_files(&card, folder, &content);
            output.unmap().unwrap();
            drop(space);
            assert!(fs::read(&to).unwrap() == content, "round {round}");
        }
    });
}

#[test]
fn files_that_cannot_be_mapped_are_named() {
    on_each_card(|card, folder| {
        let space = card.create_space().unwrap();
        let refused = |name: &str, options: MapOptions| -> String {
            let error = space
                .map_file(folder.join(name), options)
                .unwrap_err()
                .to_string();
            assert!(error.contains(name), "{error}");
            error
        };
        fs::write(folder.join("empty"), b"").unwrap();
        fs::write(folder.join("short"), b"12345").unwrap();
        assert!(refused("missing", MapOptions::read_only()).contains("No such file"));
        assert!(refused("empty", MapOptions::read_only()).contains("at least 1 byte"));
        assert!(refused("short", MapOptions::read_only().offset(5)).contains("past the end"));
        assert!(refused("short", MapOptions::read_only().bytes(6)).contains("cannot be mapped"));
        fs::create_dir(folder.join("folder")).unwrap();
        assert!(refused("folder", MapOptions::read_only()).contains("regular files"));

        let first = space
            .map_file(folder.join("short"), MapOptions::read_only())
            .unwrap();
        fs::write(folder.join("other"), b"123").unwrap();
        let here = MapOptions::read_only().address(first.address());
        let overlap = refused("other", here);
        assert!(overlap.contains("overlap"), "{overlap}");
        // Each mapping has its own rights.
        let writable = space
            .map_file(folder.join("short"), MapOptions::read_write())
            .unwrap();
        assert_ne!(writable.address(), first.address());
    });
}

/// Root may write anywhere, so the rights are checked only for others.
#[test]
fn a_read_only_file_is_not_mapped_writable() {
    on_each_card(|card, folder| {
        let path = folder.join("locked");
        fs::write(&path, b"12345").unwrap();
        let mut rights = fs::metadata(&path).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(&path, rights).unwrap();
        if fs::OpenOptions::new().write(true).open(&path).is_ok() {
            return;
        }
        let space = card.create_space().unwrap();
        let error = space
            .map_file(&path, MapOptions::read_write())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("locked") && error.contains("writing"),
            "{error}"
        );
    });
}

#[test]
fn an_access_outside_all_mappings_fails_the_wait() {
    on_each_card(|card, folder| {
        let from = folder.join("from");
        fs::write(&from, bytes(8192)).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let nowhere = VirtAddr::new(0x7000_0000_0000).unwrap();
        let error = run_copy(&card, &space, input.address(), nowhere, 8192)
            .err()
            .unwrap();
        let Error::Access(access) = &error else {
            panic!("{error}")
        };
        assert!(access.write && access.port == "m_axi_gmem1" && access.address == nowhere);
        assert!(error.to_string().contains("nearest mapping"), "{error}");

        // The slot is usable again, and so is the space.
        let to = folder.join("to");
        let output = space.map_file(&to, MapOptions::create(8192)).unwrap();
        run_copy(&card, &space, input.address(), output.address(), 8192).unwrap();
        output.unmap().unwrap();
        assert!(fs::read(&to).unwrap() == bytes(8192));
    });
}

#[test]
fn a_write_to_a_read_only_mapping_fails_the_wait() {
    on_each_card(|card, folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, bytes(8192)).unwrap();
        fs::write(&to, vec![7; 8192]).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let output = space.map_file(&to, MapOptions::read_only()).unwrap();
        let error = run_copy(&card, &space, input.address(), output.address(), 8192)
            .err()
            .unwrap();
        assert!(
            matches!(&error, Error::Access(access) if access.write),
            "{error}"
        );
        assert!(
            error.to_string().contains("does not allow writes"),
            "{error}"
        );
        output.unmap().unwrap();
        assert!(fs::read(&to).unwrap() == vec![7; 8192]);
    });
}

/// File I/O whose writes fail as on a full disk, once `room` of them have gone well.
struct FullDisk {
    inner: BlockingIo,
    room: usize,
    refused: Vec<TransferId>,
}

impl FileIo for FullDisk {
    fn name(&self) -> &'static str {
        "full disk"
    }

    fn start(&mut self, transfer: Transfer) {
        if transfer.direction == Direction::Write {
            if self.room == 0 {
                self.refused.push(transfer.id);
                return;
            }
            self.room -= 1;
        }
        self.inner.start(transfer);
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        if self.refused.contains(&id) {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        self.inner.finish(id)
    }
}

#[test]
fn a_full_disk_is_reported_and_nothing_written_is_lost() {
    let cards: [Box<dyn card::Card>; 2] = [
        Box::new(FunctionalCard::new(FunctionalConfig::default())),
        simulated(None),
    ];
    for raw in cards {
        let folder = TempDir::new().unwrap();
        let disk = || -> Box<dyn FileIo> {
            Box::new(FullDisk {
                inner: BlockingIo::default(),
                room: 3,
                refused: Vec::new(),
            })
        };
        let card = Card::with_io(raw, disk, OwnerOptions::default()).unwrap();
        let content = bytes(5 << 20);
        let (to, _space, output) = copy_files(&card, folder.path(), &content);
        let error = output.unmap().unwrap_err().to_string();
        assert!(
            error.contains("No space left") && error.contains("/to"),
            "{error}"
        );
        let written = fs::read(&to).unwrap();
        // A page is written in sixteen pieces.
        let piece = 128 << 10;
        let whole = written
            .chunks(piece)
            .zip(content.chunks(piece))
            .filter(|(a, b)| a == b)
            .count();
        assert_eq!(whole, 3, "the pieces that the disk took are there");
    }
}

#[test]
fn spaces_that_map_a_file_share_its_pages() {
    on_each_card(|card, folder| {
        let content = bytes((4 << 20) + 1);
        let from = folder.join("from");
        fs::write(&from, &content).unwrap();
        let spaces = [card.create_space().unwrap(), card.create_space().unwrap()];
        let inputs = spaces
            .each_ref()
            .map(|space| space.map_file(&from, MapOptions::read_only()).unwrap());
        for (number, (space, input)) in spaces.iter().zip(&inputs).enumerate() {
            let to = folder.join(format!("to{number}"));
            let options = MapOptions::create(input.bytes());
            let output = space.map_file(&to, options).unwrap();
            let (source, target) = (input.address(), output.address());
            run_copy(&card, space, source, target, input.bytes()).unwrap();
            output.unmap().unwrap();
            assert!(fs::read(&to).unwrap() == content);
            let report = card.report().unwrap();
            assert_eq!(
                report.paging.pages_read, 3,
                "each page is read once for both"
            );
        }
        // What one of them writes, the other reads: one frame for both.
        let shared = folder.join("shared");
        fs::write(&shared, vec![0; content.len()]).unwrap();
        let views = spaces
            .each_ref()
            .map(|space| space.map_file(&shared, MapOptions::read_write()).unwrap());
        let bytes = inputs[0].bytes();
        let (source, target) = (inputs[0].address(), views[0].address());
        run_copy(&card, &spaces[0], source, target, bytes).unwrap();
        let to = folder.join("to");
        let output = spaces[1].map_file(&to, MapOptions::create(bytes)).unwrap();
        let (source, target) = (views[1].address(), output.address());
        run_copy(&card, &spaces[1], source, target, bytes).unwrap();
        output.unmap().unwrap();
        assert!(fs::read(&to).unwrap() == content);
    });
}

#[test]
fn ctrl_c_stops_the_kernel_and_keeps_what_was_written() {
    on_each_card(|card, folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let content = bytes(16 << 20);
        fs::write(&from, &content).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let output = space
            .map_file(&to, MapOptions::create(input.bytes()))
            .unwrap();
        let slot = card.load(SlotId(0), kernel("copy"), &space).unwrap();
        slot.set_pointer("input", input.address()).unwrap();
        slot.set_pointer("output", output.address()).unwrap();
        slot.set("bytes", input.bytes()).unwrap();
        slot.start().unwrap();
        let mut slices = 0;
        let result = slot.wait(None, |_| {
            slices += 1;
            if slices < 8 {
                Continue::Yes
            } else {
                Continue::Stop
            }
        });
        output.unmap().unwrap();
        let written = fs::read(&to).unwrap();
        match result {
            // A card without time may be done at once.
            Ok(()) => assert!(written == content),
            Err(Error::Interrupted) => {
                let good = written
                    .iter()
                    .zip(&content)
                    .take_while(|(a, b)| a == b)
                    .count();
                assert!(good >= 4096, "only {good} bytes are there");
            }
            Err(error) => panic!("{error}"),
        }
    });
}

fn on_simulated_card(test: impl Fn(Card, AddressSpace)) {
    let card = Card::new(simulated(None), OwnerOptions::default()).unwrap();
    let space = card.create_space().unwrap();
    test(card, space);
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(name)
}

#[test]
fn a_kernel_that_never_ends_meets_its_deadline() {
    on_simulated_card(|card, space| {
        let slot = card.load(SlotId(0), fixture("endless"), &space).unwrap();
        slot.start().unwrap();
        let deadline = Picoseconds::from_micros(50);
        let error = slot.wait(Some(deadline), |_| Continue::Yes).unwrap_err();
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
        assert!(error.to_string().contains("endless"), "{error}");
    });
}

#[test]
fn a_kernel_that_does_nothing_is_noticed_without_a_deadline() {
    on_simulated_card(|card, space| {
        let slot = card.load(SlotId(0), fixture("deaf"), &space).unwrap();
        slot.start().unwrap();
        let error = slot.wait(None, |_| Continue::Yes).unwrap_err();
        assert!(error.to_string().contains("never come"), "{error}");
    });
}

#[test]
fn kernels_that_do_not_build_say_why() {
    on_simulated_card(|card, space| {
        let folder = TempDir::new().unwrap();
        let refused = |manifest: &str, rtl: &str| -> String {
            fs::write(folder.path().join("kernel.toml"), manifest).unwrap();
            fs::write(folder.path().join("k.sv"), rtl).unwrap();
            card.load(SlotId(0), folder.path(), &space)
                .err()
                .unwrap()
                .to_string()
        };
        let manifest = fs::read_to_string(fixture("deaf").join("kernel.toml")).unwrap();
        let manifest = manifest.replace("deaf.sv", "k.sv");
        let rtl = fs::read_to_string(fixture("deaf").join("deaf.sv")).unwrap();

        let broken = refused(&manifest, &rtl.replace("endmodule", "wire = ;\nendmodule"));
        assert!(
            broken.contains("k.sv:"),
            "the tool's message and line: {broken}"
        );
        let renamed = refused(&manifest, &rtl.replace("module deaf", "module dumb"));
        assert!(renamed.contains("deaf"), "{renamed}");
        let missing = refused(
            &manifest,
            &rtl.replace("s_axi_control_arready", "s_axi_arready"),
        );
        assert!(missing.contains("s_axi_control_arready"), "{missing}");
        let mistaken = refused(&manifest.replace("ap_ctrl_hs", "ap_ctrl"), &rtl);
        assert!(mistaken.contains("ap_ctrl_hs"), "{mistaken}");
        let nowhere = card
            .load(SlotId(0), folder.path().join("none"), &space)
            .err()
            .unwrap();
        assert!(nowhere.to_string().contains("none"), "{nowhere}");
        let far = card.load(SlotId(9), fixture("deaf"), &space).err().unwrap();
        assert!(far.to_string().contains("slot 9"), "{far}");
    });
}
