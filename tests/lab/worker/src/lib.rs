//! What the programs of the lab share: the work, its plan, and the check of what a power cut or a kill has left.

mod copies;
pub mod plan;
pub mod verify;
pub mod work;
