/// A call that marks dead letters as discarded. They stay in the topic until its retention deletes them, but
/// no later call sends them again.
package struct Discard {
    private let deadLetters: DeadLetterTopic
    private let filter: DeadLetterFilter
    private let author: String
    private let run: String

    /// - Parameters:
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    package init(deadLetters: DeadLetterTopic, filter: DeadLetterFilter, author: String, run: String) {
        self.deadLetters = deadLetters
        self.filter = filter
        self.author = author
        self.run = run
    }

    /// Returns the number of dead letters that the call would mark, and the number of matching ones that a
    /// redrive has begun and not completed. The latter are not marked.
    package func preview() throws -> (letters: Int, busy: Int) {
        var (letters, busy) = (0, 0)
        try deadLetters.forEach(matching: filter) { _, state in
            if state == .open { letters += 1 }
            if state == .doubtful { busy += 1 }
        }
        return (letters, busy)
    }

    /// Marks the dead letters and returns their count.
    ///
    /// - Parameter progress: Called after each mark. An error that it throws ends the call between two marks.
    package func execute(progress: (Int) throws -> Void) throws -> Int {
        let writer = try ReplayWriter(deadLetters: deadLetters, author: author, run: run)
        var count = 0
        for partition in deadLetters.partitions where filter.includes(partition: partition) {
            let journal = try deadLetters.journal(of: partition, matching: filter)
            var batch: [(offset: Int64, app: String?)] = []
            func markBatch() throws {
                guard !batch.isEmpty else { return }
                for app in Set(batch.compactMap(\.app)).sorted() {
                    let appCount = batch.count { $0.app == app }
                    try writer.writeAudit(
                        "dead-letters.discard", app: app, subject: "\(appCount) letters, run \(run)")
                }
                try writer.writeMark(.discard, phase: .done, in: partition, letters: batch.map(\.offset))
                count += batch.count
                batch.removeAll()
                try progress(count)
            }
            // The state that `forEach` passes does not count the marks of `flotilla replay resend`.
            try deadLetters.forEach(in: partition, matching: filter, journal: journal) { letter, _ in
                guard journal.listedState(of: letter) == .open else { return }
                batch.append((letter.id.offset, letter.app))
                if batch.count >= Redrive.batchLettersMax { try markBatch() }
            }
            try markBatch()
        }
        return count
    }
}
