internal import Lifecycle

/// The facts about one served endpoint that its loop publishes for the rest of the process. Any thread may use it.
final class EndpointReport: Sendable {
    struct Values: Sendable {
        /// Whether its partitions in this process are read.
        var isServing = false
        var unfinishedEvents = 0
        var callsInFlight = 0
        /// The time of the oldest unfinished event in milliseconds since 1970.
        var oldestTime: Int64?
        /// The time in milliseconds since 1970 at which the endpoint wanted no more calls, or nil.
        var goneAt: Int64?
        /// Whether the loop has ended its work.
        var hasStopped = false
    }

    private let values = TracedLock(Values())

    var current: Values { values.withLock { $0 } }

    func update(_ change: (inout Values) -> Void) { values.withLock { change(&$0) } }
}
