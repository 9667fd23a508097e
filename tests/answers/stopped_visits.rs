//! Visits of pairs and clusters that are stopped.

use std::ops::ControlFlow;

use simdb::{Error, Result};

/// Stops a visitor after its first event, its second, and so on, until it sees all events; returns
/// their number. `run` gives each event to the visitor. A visit that was stopped is interrupted.
pub fn stop_at_each_event(
    run: impl Fn(&mut dyn FnMut() -> ControlFlow<()>) -> Result<()>,
) -> usize {
    for most in 1.. {
        let mut events = 0;
        let ended = run(&mut || {
            events += 1;
            if events >= most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if events < most {
            ended.unwrap();
            return events;
        }
        assert_eq!(events, most);
        assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    }
    unreachable!("the visits are finite");
}
