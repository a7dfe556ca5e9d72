package import Kafka
package import Topics

/// The topic `dead-letters` as a command sees it: one partition at a time, so that what is kept in memory is
/// a few bits for each letter of one of them.
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

    /// Where its partitions end now, by their numbers.
    func ends() throws -> [Int64] {
        try partitions.map { try scanner.end(of: TopicPartition(layout.name(.deadLetters), $0)) }
    }

    /// What was done about the letters of a partition.
    func journal(of partition: Int32, _ filter: LetterFilter) throws -> LetterJournal {
        var journal = LetterJournal()
        try scan(.deadLetters, in: partition, from: filter.start) { journal.read($0) }
        return journal
    }

    /// Its letters that match, in order, up to where the journal was read. The body ends it with `Enough`.
    ///
    /// - Parameters:
    ///   - start: nil for the first that can match.
    ///   - end: the first offset that is left alone.
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

    /// All letters that match, whatever was done about them.
    package func forEach(
        _ filter: LetterFilter, _ body: (Letter, LetterJournal.State) throws -> Void
    ) throws {
        for partition in partitions where filter.concerns(partition) {
            try forEach(in: partition, filter, knowing: journal(of: partition, filter), body)
        }
    }
}
