/// The reason that a row is left out of a page.
package enum Exclusion: Int, Sendable, CaseIterable {
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
    case notChosen
    /// A start token for all types, of an installation that is reached by the token of the type itself.
    case reachedByOwn
    /// A start token for all types, of an installation that unregistered this type.
    case unregistered
}

/// The number of rows that were left out, by reason.
package struct Exclusions: Sendable, Hashable {
    private var counts = Array(repeating: 0, count: Exclusion.allCases.count)

    package init() {}

    package subscript(reason: Exclusion) -> Int { counts[reason.rawValue] }
    package var total: Int { counts.reduce(0, +) }

    mutating func count(_ reason: Exclusion) { counts[reason.rawValue] += 1 }

    mutating func removeAll() {
        for index in counts.indices { counts[index] = 0 }
    }

    package static func += (sum: inout Exclusions, other: Exclusions) {
        for index in sum.counts.indices { sum.counts[index] += other.counts[index] }
    }
}
