//! Models of kernels in processes of their own: the same results, and an end that costs only the slot.

mod sim;

use card::event::Event;
use card::kernel::KernelPackage;
use card::registers::SLOT_CONTROL;
use card::{Card, Loader, Statistics};
use sim::{open, options, rtl, run_copy, Driver, SLOT, SPACE};
use simcard::{serve_kernel, KernelHost, SimOptions};
use std::time::Duration;
use units::{CommandStatus, Operation, Picoseconds};

/// Set for the process, whose environment is otherwise empty.
const HOST: &str = "TOMBOLO_TEST_CHILD";

/// No test, but the process of a kernel's model.
#[test]
fn a_kernel_host_if_it_is_one() {
    if std::env::var_os(HOST).is_some() {
        serve_kernel();
    }
}

fn host() -> KernelHost {
    let test = std::env::current_exe().unwrap().into_os_string();
    let mut arguments = vec![format!("{HOST}=1").into(), test];
    arguments.extend(["--exact", "a_kernel_host_if_it_is_one", "--nocapture"].map(Into::into));
    KernelHost::new("/usr/bin/env".into(), arguments)
}

fn isolated() -> SimOptions {
    SimOptions {
        kernel_host: Some(host()),
        ..options()
    }
}

/// Virtual time at the end of a copy, and the statistics.
fn results(options: SimOptions) -> (Picoseconds, Statistics) {
    let (mut driver, input, output) = run_copy(options, 200_000);
    assert!(input == output);
    (driver.card.now(), driver.card.statistics().unwrap())
}

#[test]
fn results_are_those_of_a_model_in_this_process() {
    let (here, apart) = (results(options()), results(isolated()));
    assert_eq!(here, apart);
    let patient = SimOptions {
        idle_skipping: false,
        ..isolated()
    };
    assert_eq!(results(patient).0, here.0);
}

/// Loads a kernel, and writes its argument; the value that is read back, or why the kernel ended.
fn answer(options: SimOptions, kernel: &KernelPackage, argument: u32) -> Result<u32, String> {
    let mut driver = Driver::new(open(options));
    driver.card.load(SLOT, kernel).unwrap();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    let register = SLOT_CONTROL.at(0) + 0x10;
    driver.card.write_register(register, argument).unwrap();
    if let Ok(value) = driver.card.read_register(register) {
        return Ok(value);
    }
    let events = driver.card.wait(None).unwrap();
    let [Event::KernelFailed { reason, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    // The shell continues, and the slot can be used again.
    assert_eq!(driver.command(Operation::Nop), CommandStatus::Ok);
    driver.card.control_slot(SLOT, SPACE, false).unwrap();
    driver.card.load(SLOT, kernel).unwrap();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    driver.card.write_register(register, 77).unwrap();
    assert_eq!(driver.card.read_register(register).unwrap(), 77);
    Err(reason.clone())
}

#[test]
fn a_kernel_that_ends_itself_gives_the_same_reason() {
    let kernel = KernelPackage::open(&rtl("failing")).unwrap();
    for argument in [0, 1, 2, 3, 4, 77] {
        let here = answer(options(), &kernel, argument);
        assert_eq!(answer(isolated(), &kernel, argument), here, "{argument}");
        assert_eq!(here.is_err(), (1..=4).contains(&argument));
    }
}

/// The kernel `failing` with another statement instead of `$finish`.
fn changed(folder: &std::path::Path, statement: &str) -> KernelPackage {
    for file in ["kernel.toml", "failing.sv"] {
        let text = std::fs::read_to_string(rtl("failing").join(file)).unwrap();
        let text = text.replace(
            "logic [31:0] how_q;",
            "logic [31:0] how_q; logic [63:0] spin = 1; integer file;",
        );
        std::fs::write(folder.join(file), text.replace("$finish;", statement)).unwrap();
    }
    KernelPackage::open(folder).unwrap()
}

#[test]
fn a_kernel_that_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let endless =
        "while (spin != 0) spin = {spin[62:0], spin[63] ^ spin[62] ^ spin[60] ^ spin[59]};";
    let kernel = changed(folder.path(), endless);
    let limited = SimOptions {
        kernel_host: Some(KernelHost {
            time: Duration::from_millis(300),
            ..host()
        }),
        ..options()
    };
    let reason = answer(limited, &kernel, 1).unwrap_err();
    assert!(reason.contains("more than 0.3 s"), "{reason}");
}

#[test]
fn output_of_a_kernel_arrives_and_files_of_its_folder_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("near.txt"), "abc").unwrap();
    let reads =
        "begin file = $fopen(\"near.txt\", \"r\"); $fatal(1, \"got %0d\", $fgetc(file)); end";
    let kernel = changed(folder.path(), reads);
    let reason = answer(isolated(), &kernel, 1).unwrap_err();
    assert!(reason.contains("got 97"), "{reason}");
}

/// Processor time of this process and of those that have ended, in seconds.
fn processor_time() -> f64 {
    let of = |who| {
        // SAFETY: fills the structure in; zero is a valid value of all its fields.
        let usage = unsafe {
            let mut usage = std::mem::zeroed::<libc::rusage>();
            assert_eq!(libc::getrusage(who, &mut usage), 0);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

/// For the bar: processor time of a copy with isolation over that without.
#[test]
#[ignore = "a figure: run it without other load"]
fn the_cost_of_isolation() {
    let cost = |isolate: bool| {
        let options = SimOptions {
            asserting: false,
            kernel_host: isolate.then(host),
            ..options()
        };
        let begin = (processor_time(), std::time::Instant::now());
        let (driver, ..) = run_copy(options, 8 << 20);
        drop(driver);
        (processor_time() - begin.0, begin.1.elapsed().as_secs_f64())
    };
    cost(true);
    for _ in 0..3 {
        let (here, apart) = (cost(false), cost(true));
        println!(
            "processor {:.3} s and {:.3} s: {:.3}; elapsed {:.3} s and {:.3} s",
            here.0,
            apart.0,
            apart.0 / here.0,
            here.1,
            apart.1
        );
    }
}
