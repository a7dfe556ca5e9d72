package import LiveActivity

/// The result of planning one request. All of it is written in one transaction with the next offset. The note
/// follows the commit.
package struct Plan: Sendable, Equatable {
    /// An expansion and its lanes.
    package struct Part: Sendable, Equatable {
        package var expansion: Expansion
        /// The lane. Nil for every lane.
        package var lane: Int?
        /// Whether the expansion is for one recipient, so that it overtakes expansions for many.
        package var isUrgent: Bool
    }

    package var progress: [Progress] = []
    package var parts: [Part] = []
    /// The order to lanes to stop a send: to every lane, or to the lane of the private group's owner.
    package var stop: Stop?
    /// The time at which the group ends automatically.
    package var autoEnd: EndSchedule?
    package var note: SupersededNote?
    /// The scope that holds a send until the clock reaches its version.
    package var held: Held?

    package struct Held: Sendable, Equatable {
        package var key: GroupKey
        /// The time at which the send may go, in seconds since 1970.
        package var at: Int64
    }

    package init() {}

    /// Removes everything that a dry run must not do. It may only walk through the lanes and report the
    /// result.
    mutating func keepDryRun() {
        progress.removeAll { !$0.dryRun }
        parts.removeAll { !$0.expansion.dryRun }
        (stop, autoEnd, note, held) = (nil, nil, nil, nil)
    }
}
