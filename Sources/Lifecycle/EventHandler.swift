internal import CLinux

/// What a descriptor is watched for, and what happened on it.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The peer will send no more.
    package static let inputEnded = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// Reported whether asked for or not.
    package static let failed = Readiness(rawValue: EPOLLERR.rawValue)
    /// Both directions are shut. Reported whether asked for or not.
    package static let hungUp = Readiness(rawValue: EPOLLHUP.rawValue)
    /// Report a change once instead of a condition again and again.
    package static let edge = Readiness(rawValue: linux_epoll_edge())
}

/// Owner of a descriptor on an `EventLoop`. An object and no closure: an event then costs one call.
package protocol EventHandler: AnyObject {
    /// Called on the loop. May register, close, and deregister anything, itself included.
    func ready(_ readiness: Readiness)
    /// The loop is about to end: time to close. What is asked of the loop now is still done, once.
    func loopEnds()
}

/// Called once at the end of the turn it asked for with `EventLoop.atEndOfTurn`.
package protocol TurnHook: AnyObject {
    func endOfTurn()
}
