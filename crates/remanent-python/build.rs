//! Symbols of Python are found when the interpreter loads the module; the linker of macOS must be told.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
