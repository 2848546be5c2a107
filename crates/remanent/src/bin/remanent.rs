//! The executable: the command line of the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(remanent::main_with(std::env::args_os()))
}
