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

    /// Lanes that stop what they have of a send.
    package struct Stop: Sendable, Equatable {
        package var send: String
        package var key: GroupKey
    }

    /// The group is to be ended by itself at this time.
    package struct AutoEnd: Sendable, Equatable {
        package var key: GroupKey
        package var generation: Int64
        /// Seconds since 1970.
        package var at: Int64
    }

    package var progress: [Progress] = []
    package var parts: [Part] = []
    package var stop: Stop?
    package var autoEnd: AutoEnd?
    package var note: SupersededNote?
    /// A scope that holds a send until the clock has come up to its version.
    package var held: Held?

    package struct Held: Sendable, Equatable {
        package var key: GroupKey
        /// Seconds since 1970 when it may go.
        package var at: Int64
    }

    package init() {}
}
