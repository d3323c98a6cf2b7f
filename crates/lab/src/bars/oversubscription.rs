//! Card memory of a quarter of the data: results stay correct while pages are evicted.

use super::{aes, Failure};
use crate::input::write_input;
use crate::row::Row;
use tombolo::SimOptions;

const FILE_BYTES: u64 = 32 << 20;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let (input, output) = (folder.path().join("plain"), folder.path().join("cipher"));
    write_input(&input, FILE_BYTES)?;
    let mut options = SimOptions::named("f1")?;
    // Input and output together are twice the file's size.
    options.channel_bytes = Some(2 * FILE_BYTES / 4 / u64::from(options.shell.channels));
    let report = aes::encrypt(options, &input, &output)?;
    Ok(vec![
        Row::holds("oversub.identical", aes::openssl_agrees(&input, &output)?),
        Row::new("oversub.evictions", report.paging.evictions as f64, "pages"),
    ])
}
