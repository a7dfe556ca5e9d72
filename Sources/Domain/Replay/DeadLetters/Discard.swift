/// A call that marks open dead letters as discarded. They stay in the topic until its retention deletes them, but
/// no later call sends them again.
///
/// A dead letter is not open any more if a redrive has begun with it, or `flotilla replay resend` with one of its jobs
/// (`DeadLetterJournal.listedState`).
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

    /// Returns the number of dead letters that the call would mark, and the number of busy ones: a redrive or a resend has
    /// begun with them and has not ended. They match the filter, but are not marked.
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
            var batch: [BatchedLetter] = []
            func markBatch() throws {
                guard !batch.isEmpty else { return }
                try mark(batch, in: partition, with: writer)
                count += batch.count
                batch.removeAll()
                try progress(count)
            }
            try deadLetters.forEachWithOwnState(in: partition, matching: filter, journal: journal) {
                letter, _ in
                guard journal.listedState(of: letter) == .open else { return }
                batch.append(BatchedLetter(offset: letter.id.offset, app: letter.app))
                if batch.count >= Redrive.batchLettersMax { try markBatch() }
            }
            try markBatch()
        }
        return count
    }

    /// A dead letter of the batch that is marked next.
    private struct BatchedLetter {
        let offset: Int64
        let app: String?
    }

    /// Writes an audit entry for each app of a batch, and then one mark for the batch. If the call is killed in between,
    /// the audit names a discard that did not happen, but no discard is missing in it.
    private func mark(_ batch: [BatchedLetter], in partition: Int32, with writer: ReplayWriter) throws {
        for app in Set(batch.compactMap(\.app)).sorted() {
            let appCount = batch.count { $0.app == app }
            try writer.writeAudit(
                "dead-letters.discard", app: app, subject: "\(appCount) letters, run \(run)")
        }
        try writer.writeMark(.discard, phase: .done, in: partition, letters: batch.map(\.offset))
    }
}
