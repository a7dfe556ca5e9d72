/// Why a row of a selection's stretch is not on its page.
package enum Exclusion: Int, Sendable, CaseIterable {
    /// Another installation has the same token, and has it since later.
    case shadowed
    /// The person has switched Live Activities off for the app.
    case activitiesOff
    /// The person has swiped the activity away.
    case dismissed
    case otherEnvironment
    case expired
    /// The phone's system is older than the selection allows.
    case systemTooOld
    /// The installation has left this recipient.
    case movedAway
    /// Tags or segments have not chosen the person.
    case notChosen
    /// A start token that serves every type, of an installation that is reached by the type's own.
    case reachedByOwn
    /// A start token that serves every type, of an installation that wants no more of this one.
    case unregistered
}

/// How many rows were left out, by reason.
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
