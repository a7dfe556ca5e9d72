package import Lifecycle

/// The time of a loop's next iteration, and the sources that bring it forward.
package struct Wakeup: Equatable, Sendable {
    /// The clients whose records or events bring the iteration forward.
    package struct Sources: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// The consumer of the group.
        package static let records = Sources(rawValue: 1)
        /// The consumer of the views.
        package static let views = Sources(rawValue: 2)
        /// The clients that only the decider has.
        package static let ownClients = Sources(rawValue: 4)
    }

    package var time: Instant
    package var sources: Sources
    /// The longest wait for records after another source has woken the loop, so that one iteration takes both.
    package var gatheringMilliseconds = 0

    package init(at instant: Instant, or sources: Sources = .records) {
        time = instant
        self.sources = sources
    }
}
