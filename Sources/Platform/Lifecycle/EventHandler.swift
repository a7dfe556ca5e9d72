internal import CLinux

/// A set of epoll events: the events that a descriptor is watched for, or the events that happened on it.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The peer will send no more data.
    package static let inputEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// An error. It is always reported.
    package static let failed = Readiness(rawValue: EPOLLERR.rawValue)
    /// Both directions are shut down. It is always reported.
    package static let hungUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// Reports each change of the descriptor once. Without it, epoll reports a condition as long as it holds.
    package static let edgeTriggered = Readiness(rawValue: linux_epoll_edge())
}

/// The owner of a descriptor that an `EventLoop` watches. It is an object and not a closure, so that an event
/// costs one call.
package protocol EventHandler: AnyObject {
    /// Called on the loop. It may register, close and deregister any handler, including itself.
    func didBecomeReady(_ readiness: Readiness)
    /// Called before the loop ends, so that the handler can close. The loop still runs work that is requested
    /// here, once.
    func loopWillEnd()
}

/// A handler that runs once, at the end of the iteration in which it called `EventLoop.callAtEndOfIteration`.
package protocol IterationHook: AnyObject {
    func iterationWillEnd()
}
