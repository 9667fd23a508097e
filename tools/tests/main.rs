//! The two command line tools, verb by verb: standard output, standard error, exit codes, files.
//! The tests are one program, since each test program links the whole library:
//!
//! ```sh
//! cargo test -p simdb-tools --test tools -- dedup
//! ```

mod clusters;
mod common;
mod compare;
mod copies;
mod csv;
mod cut;
mod dedup;
mod dirty_input;
mod doctor;
mod every_verb;
mod fuzzing;
mod hostile_files;
mod html;
mod inputs;
mod keys;
mod load;
mod month;
mod npy;
mod pairs;
mod parquet;
mod recipe;
mod reports;
mod retention;
mod salvage;
mod scopes;
mod serve;
mod several_texts;
mod similar;
mod verbs;
mod watch;
