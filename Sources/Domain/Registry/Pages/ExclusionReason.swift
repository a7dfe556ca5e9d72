/// The reason for which a page leaves out a row that belongs to its selection.
package enum ExclusionReason: Int, Sendable, CaseIterable {
    /// Another installation got the same token later.
    case shadowed
    /// The person switched Live Activities off for the app.
    case activitiesOff
    /// The person swiped the activity away.
    case dismissed
    case otherEnvironment
    case expired
    /// The phone's system is older than the selection allows.
    case systemTooOld
    /// The installation left this recipient.
    case movedAway
    /// The tags or segments do not select the person.
    case notSelected
    /// A start token for every type, of an installation that is reached by the token of the type itself.
    case reachedByTypedToken
    /// A start token for every type, of an installation that unregistered this type.
    case unregistered
}

/// The number of rows that pages left out, by reason.
package struct ExclusionCounts: Sendable, Hashable {
    private var counts = Array(repeating: 0, count: ExclusionReason.allCases.count)

    package init() {}

    package subscript(reason: ExclusionReason) -> Int { counts[reason.rawValue] }
    package var total: Int { counts.reduce(0, +) }

    mutating func add(_ reason: ExclusionReason) { counts[reason.rawValue] += 1 }

    mutating func removeAll() {
        for index in counts.indices { counts[index] = 0 }
    }

    package static func += (sum: inout ExclusionCounts, other: ExclusionCounts) {
        for index in sum.counts.indices { sum.counts[index] += other.counts[index] }
    }
}
