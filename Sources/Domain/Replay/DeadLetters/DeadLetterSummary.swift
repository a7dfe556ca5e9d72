package import JSON
internal import RecordFormat

/// Counts of dead letters by stage, reason, app and state.
package struct DeadLetterSummary: Sendable {
    /// The limit of rows. Dead letters that would need a further row are counted in `omittedDeadLetters`.
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
        /// The times of the oldest and the newest dead letter, in milliseconds since 1970.
        package var first = Int64.max
        package var last = Int64.min

        fileprivate mutating func add(_ letter: DeadLetterRecord) {
            letters += 1
            jobs += letter.jobCount
            first = min(first, letter.rejection.rejectedAt)
            last = max(last, letter.rejection.rejectedAt)
        }
    }

    package private(set) var rows: [Key: Row] = [:]
    package private(set) var omittedDeadLetters = 0

    package init() {}

    package mutating func add(_ letter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState) {
        let key = Key(
            stage: letter.rejection.stage, code: letter.rejection.code, app: letter.app, state: state)
        guard rows[key] != nil || rows.count < Self.rowsMax else {
            omittedDeadLetters += 1
            return
        }
        rows[key, default: Row()].add(letter)
    }
}

extension DeadLetterSummary {
    /// The rows sorted by stage, app, reason and state.
    package var sorted: [(kind: Key, row: Row)] {
        rows.sorted { a, b in
            (a.key.stage, a.key.app ?? "", a.key.code, a.key.state.rawValue)
                < (b.key.stage, b.key.app ?? "", b.key.code, b.key.state.rawValue)
        }.map { (kind: $0.key, row: $0.value) }
    }

    /// Writes the fields of a row into an open object.
    package static func write(_ key: Key, row: Row, to json: inout JSONWriter) {
        json.field("stage", key.stage)
        json.field("app", key.app)
        json.field("reason", key.code)
        json.field("state", key.state.rawValue)
        json.field("letters", row.letters)
        json.field("jobs", row.jobs)
        json.field("first", row.first)
        json.field("last", row.last)
    }
}
