package import Kafka
package import Topics

/// The topic `dead-letters`, as commands read it. A partition contains dead letters, and the marks of calls
/// that worked on them (`DeadLetterMark`). It is read one partition at a time, and twice: first the marks
/// (`journal(of:matching:)`), then the dead letters. So memory holds only a few bits for each of them.
package struct DeadLetterTopic {
    let settings: KafkaSettings
    let layout: TopicLayout
    private let scanner: TopicScanner

    package init(settings: KafkaSettings, layout: TopicLayout) {
        self.settings = settings
        self.layout = layout
        scanner = TopicScanner(settings)
    }

    var partitions: Range<Int32> { 0..<Int32(layout.partitionCount(of: .deadLetters)) }

    /// Reads the records of a partition of any topic, in order.
    ///
    /// - Returns: The offset after the last record.
    @discardableResult
    func scan(
        _ topic: TopicName, in partition: Int32, from start: TopicScanner.Start = .beginning,
        each: (borrowing Kafka.Record) throws -> Void
    ) throws -> Int64 {
        try scanner.read(TopicPartition(layout.name(of: topic), partition), from: start, each: each)
    }

    /// Returns the current end offset of each partition, by its number.
    func endOffsets() throws -> [Int64] {
        try partitions.map { try scanner.end(of: TopicPartition(layout.name(of: .deadLetters), $0)) }
    }

    /// Returns the journal of a partition, with the state of its dead letters.
    func journal(of partition: Int32, matching filter: DeadLetterFilter) throws -> DeadLetterJournal {
        var journal = DeadLetterJournal()
        try scan(.deadLetters, in: partition, from: filter.scanStart) { journal.apply($0) }
        return journal
    }

    /// Applies the marks that calls have written since the journal was read.
    ///
    /// - Parameter last: The offset of the last mark to apply.
    func readMarks(of partition: Int32, through last: Int64, into journal: inout DeadLetterJournal) throws {
        try scan(.deadLetters, in: partition, from: .offset(journal.readEnd)) { record in
            guard record.offset <= last else { throw TopicScanner.StopScan() }
            journal.apply(record)
        }
    }

    /// Passes the matching dead letters of a partition to `body` in order, up to the journal's end. The state of each is
    /// the one by its own marks, without the marks of resends (`DeadLetterJournal.state`). `body` can throw `StopScan`
    /// to stop.
    ///
    /// - Parameters:
    ///   - start: The start of the scan, or nil for the first possible match.
    ///   - end: The first offset that is not visited.
    func forEachWithOwnState(
        in partition: Int32, matching filter: DeadLetterFilter, journal: DeadLetterJournal,
        from start: TopicScanner.Start? = nil, before end: Int64 = .max,
        body: (DeadLetterRecord, DeadLetterJournal.DeadLetterState) throws -> Void
    ) throws {
        guard journal.readEnd > 0 else { return }
        try scan(.deadLetters, in: partition, from: start ?? filter.scanStart) { record in
            guard record.offset < min(journal.readEnd, end), let letter = DeadLetterRecord(record),
                filter.matches(letter)
            else {
                return
            }
            try body(letter, journal.state(of: record.offset))
        }
    }

    /// Finds one dead letter and its state. Its marks are behind it, so the records before it are not read.
    package func find(
        _ id: DeadLetterID
    ) throws -> (letter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState)? {
        guard partitions.contains(id.partition) else { return nil }
        var journal = DeadLetterJournal()
        var letter: DeadLetterRecord?
        try scan(.deadLetters, in: id.partition, from: .offset(id.offset)) { record in
            journal.apply(record)
            if record.offset == id.offset { letter = DeadLetterRecord(record) }
            // The record was deleted, or is a mark.
            if letter == nil { throw TopicScanner.StopScan() }
        }
        return letter.map { ($0, journal.listedState(of: $0)) }
    }

    /// Passes all matching dead letters to `body`, in any state (`DeadLetterJournal.listedState`).
    package func forEach(
        matching filter: DeadLetterFilter,
        body: (DeadLetterRecord, DeadLetterJournal.DeadLetterState) throws -> Void
    ) throws {
        for partition in partitions where filter.includes(partition: partition) {
            let journal = try journal(of: partition, matching: filter)
            try forEachWithOwnState(in: partition, matching: filter, journal: journal) { letter, _ in
                try body(letter, journal.listedState(of: letter))
            }
        }
    }
}
