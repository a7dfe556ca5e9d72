package import LiveActivity

/// What follows from one request: everything here is written in one transaction with the offset behind it,
/// and the note after that.
package struct Plan: Sendable, Equatable {
    /// An expansion, and into which lanes it goes.
    package struct Part: Sendable, Equatable {
        package var expansion: Expansion
        /// Nil: every lane.
        package var lane: Int?
        /// Of one recipient: it overtakes what is for many.
        package var isUrgent: Bool
    }

    package var progress: [Progress] = []
    package var parts: [Part] = []
    /// Lanes stop what they have of a send: every lane, or that of the private group's owner.
    package var stop: Stop?
    /// When the group is to be ended by itself.
    package var autoEnd: EndSchedule?
    package var note: SupersededNote?
    /// A scope that holds a send until the clock has come up to its version.
    package var held: Held?

    package struct Held: Sendable, Equatable {
        package var key: GroupKey
        /// Seconds since 1970 when it may go.
        package var at: Int64
    }

    package init() {}

    /// Leaves what a dry run may do: walk through the lanes, and say what it found there.
    mutating func keepDryRun() {
        progress.removeAll { !$0.dryRun }
        parts.removeAll { !$0.expansion.dryRun }
        (stop, autoEnd, note, held) = (nil, nil, nil, nil)
    }
}
