//! A kernel whose manifest gives an unsupported stream width, or none.

use std::path::Path;

/// Makes its folder.
pub fn odd_kernel(folder: &Path, data_width: Option<u32>) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("odd.sv"), "module odd; endmodule\n").unwrap();
    let head = "[kernel]\nname = \"odd\"\ntop = \"odd\"\nsources = [\"odd.sv\"]\n\
                control = \"ap_ctrl_none\"\n[[port]]\nname = \"in\"\nkind = \"axi4_stream\"\ndirection = \"in\"\n";
    let width = data_width.map_or_else(String::new, |bits| format!("data_width = {bits}\n"));
    std::fs::write(folder.join("kernel.toml"), format!("{head}{width}")).unwrap();
}
