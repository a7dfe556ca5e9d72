package import Kafka
package import Topics

/// The topic `dead-letters` for commands. It is read one partition at a time, so memory holds only a few bits
/// for each dead letter of one partition.
package struct LetterBox {
    let settings: KafkaSettings
    let layout: TopicLayout
    private let scanner: TopicScanner

    package init(_ settings: KafkaSettings, _ layout: TopicLayout) {
        self.settings = settings
        self.layout = layout
        scanner = TopicScanner(settings)
    }

    var partitions: Range<Int32> { 0..<Int32(layout.partitions(.deadLetters)) }

    @discardableResult
    func scan(
        _ topic: TopicName, in partition: Int32, from start: TopicScanner.Start = .beginning,
        _ each: (borrowing Kafka.Record) throws -> Void
    ) throws -> Int64 {
        try scanner.read(TopicPartition(layout.name(topic), partition), from: start, each)
    }

    /// Returns the current end offset of each partition, by its number.
    func ends() throws -> [Int64] {
        try partitions.map { try scanner.end(of: TopicPartition(layout.name(.deadLetters), $0)) }
    }

    /// Returns the journal of a partition, with the state of its dead letters.
    func journal(of partition: Int32, _ filter: LetterFilter) throws -> LetterJournal {
        var journal = LetterJournal()
        try scan(.deadLetters, in: partition, from: filter.start) { journal.read($0) }
        return journal
    }

    /// Passes the matching dead letters to `body` in order, up to the journal's end. `body` can throw
    /// `Enough` to stop.
    ///
    /// - Parameters:
    ///   - start: The start of the scan, or nil for the first possible match.
    ///   - end: The first offset that is not visited.
    func forEach(
        in partition: Int32, _ filter: LetterFilter, knowing journal: LetterJournal,
        from start: TopicScanner.Start? = nil, before end: Int64 = .max,
        _ body: (Letter, LetterJournal.State) throws -> Void
    ) throws {
        guard journal.end > 0 else { return }
        try scan(.deadLetters, in: partition, from: start ?? filter.start) { record in
            guard record.offset < min(journal.end, end), let letter = Letter(record), filter.takes(letter)
            else {
                return
            }
            try body(letter, journal.state(of: record.offset))
        }
    }

    /// Passes all matching dead letters to `body`, in any state.
    package func forEach(
        _ filter: LetterFilter, _ body: (Letter, LetterJournal.State) throws -> Void
    ) throws {
        for partition in partitions where filter.concerns(partition) {
            try forEach(in: partition, filter, knowing: journal(of: partition, filter), body)
        }
    }
}
