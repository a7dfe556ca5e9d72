internal import RecordFormat

/// Counts of dead letters by reason.
package struct DeadLetterSummary: Sendable {
    /// The largest number of rows. Dead letters beyond it are counted in `others`.
    package static let rowsMax = 1_000

    package struct Key: Hashable, Sendable {
        package let stage: String
        package let code: String
        package let app: String?
        package let state: DeadLetterJournal.DeadLetterState
    }

    package struct Row: Sendable {
        package var letters = 0
        package var jobs = 0
        /// Milliseconds since 1970.
        package var first = Int64.max
        package var last = Int64.min
    }

    package private(set) var rows: [Key: Row] = [:]
    package private(set) var omittedDeadLetters = 0

    package init() {}

    package mutating func add(_ letter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState) {
        let kind = Key(
            stage: letter.rejection.stage, code: letter.rejection.code, app: letter.app, state: state)
        guard rows[kind] != nil || rows.count < Self.rowsMax else {
            omittedDeadLetters += 1
            return
        }
        rows[kind, default: Row()].letters += 1
        rows[kind, default: Row()].jobs += letter.jobCount
        rows[kind, default: Row()].first = min(rows[kind]?.first ?? .max, letter.rejection.rejectedAt)
        rows[kind, default: Row()].last = max(rows[kind]?.last ?? .min, letter.rejection.rejectedAt)
    }
}
