//! Gives the shared library the name that programs ask for at run time.

fn main() {
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtombolo.so.{major}");
    println!("cargo:rerun-if-changed=build.rs");
}
