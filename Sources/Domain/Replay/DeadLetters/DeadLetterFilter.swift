internal import RecordFormat

/// The conditions that select dead letters for a call. A dead letter must match all of them.
package struct DeadLetterFilter: Sendable, Hashable {
    /// The limit of ids that a caller may give.
    package static let idsMax = 1_000
    /// The time by which a stage's clock may be behind the cluster's clock.
    private static let clockDifferenceMilliseconds: Int64 = 3_600_000

    package var app: String?
    package var stage: String?
    /// The stable code of the reason.
    package var code: String?
    /// The earliest time of the dead letter, in milliseconds since 1970.
    package var since: Int64?
    /// The time before which the dead letter was written, in milliseconds since 1970.
    package var until: Int64?
    /// The ids of the dead letters. Empty means all.
    package var ids: Set<DeadLetterID> = []

    package init() {}

    /// Whether every dead letter matches.
    package var isAll: Bool { self == DeadLetterFilter() }

    package func matches(_ letter: DeadLetterRecord) -> Bool {
        if !ids.isEmpty, !ids.contains(letter.id) { return false }
        if let app, letter.app != app { return false }
        if let stage, letter.rejection.stage != stage { return false }
        if let code, letter.rejection.code != code { return false }
        if let since, letter.rejection.rejectedAt < since { return false }
        if let until, letter.rejection.rejectedAt >= until { return false }
        return true
    }

    /// Whether a partition can have a match.
    func includes(partition: Int32) -> Bool {
        ids.isEmpty || ids.contains { $0.partition == partition }
    }

    /// The start of a scan that finds all matches and their marks. It is earlier than `since`, which is a time
    /// by the stage's clock. Marks are always later than their dead letters.
    var scanStart: TopicScanner.Start {
        since.map { .time($0 - Self.clockDifferenceMilliseconds) } ?? .beginning
    }
}
