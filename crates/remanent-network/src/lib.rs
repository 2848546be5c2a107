//! Deep networks of binary weights that learn task after task.

pub mod architecture;
pub mod binary;
pub mod parameters;
