/// The table of all topics: for each the number of partitions, the retention and the size of records.
extension TopicLayout {
    // In milliseconds.
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 24 * hour

    /// The space for a record's key and headers: 64 KiB.
    private static let keyAndHeadersBytes = 1 << 16
    /// A value of 4 MiB with its key and headers.
    private static let largeRecordBytes = (4 << 20) + keyAndHeadersBytes
    /// Any record, with the headers that a dead letter adds.
    private static let deadLetterBytes = largeRecordBytes + keyAndHeadersBytes

    /// Returns the row of the table for one topic.
    func requirements(of topic: TopicName) -> TopicRequirements {
        /// Records are deleted at an age.
        func retained(forMilliseconds age: Int64, recordBytesMax: Int? = nil) -> TopicRequirements {
            TopicRequirements(
                partitions: lanes, cleanup: .delete(afterMilliseconds: age), recordBytesMax: recordBytesMax)
        }
        /// The newest record of each key is kept, up to an age if one is given.
        func compacted(partitions: Int, deletedAfterMilliseconds age: Int64? = nil) -> TopicRequirements {
            TopicRequirements(
                partitions: partitions,
                cleanup: age.map { .compactAndDelete(afterMilliseconds: $0) } ?? .compact)
        }
        switch topic {
        case .catalog: return compacted(partitions: 1)
        case .installations, .registry, .groups, .timers: return compacted(partitions: lanes)
        case .auditSends: return retained(forMilliseconds: 30 * Self.day)
        case .events, .deadLetters:
            return retained(
                forMilliseconds: 30 * Self.day,
                recordBytesMax: topic == .deadLetters ? Self.deadLetterBytes : nil)
        case .sends, .sendsTimed, .subscriptions:
            return retained(forMilliseconds: 7 * Self.day, recordBytesMax: Self.largeRecordBytes)
        case .superseded, .members: return compacted(partitions: 1, deletedAfterMilliseconds: Self.day)
        case .expansionsUrgent, .expansions:
            return retained(forMilliseconds: Self.day, recordBytesMax: Self.largeRecordBytes)
        case .starts: return compacted(partitions: lanes, deletedAfterMilliseconds: 2 * Self.day)
        case .jobsUrgent, .jobs: return retained(forMilliseconds: Self.day)
        case .jobsLater5s, .jobsLater2m: return retained(forMilliseconds: 2 * Self.day)
        case .reports, .progress, .receipts, .schedules, .schedulesAuto:
            return retained(forMilliseconds: 7 * Self.day)
        case .replies: return retained(forMilliseconds: Self.hour)
        case .audit: return retained(forMilliseconds: 400 * Self.day)
        }
    }
}

extension TopicLayout {
    /// Whether the topic keeps the newest record of each key.
    package func isCompacted(_ topic: TopicName) -> Bool { requirements(of: topic).cleanup.isCompacting }

    /// The time for which a record can be read after it was written or, in a compacted topic, after its key was
    /// deleted. Kafka then deletes it with its segment.
    package func retentionMilliseconds(of topic: TopicName) -> Int64 {
        let cleanup = requirements(of: topic).cleanup
        return cleanup.retentionMilliseconds
            ?? TopicRequirements.compactionLagMilliseconds + Self.deleteRetentionMilliseconds
    }

    /// Whether the topic's records are deleted at an age.
    package func isDeletedByTime(_ topic: TopicName) -> Bool {
        requirements(of: topic).cleanup.retentionMilliseconds != nil
    }
}

extension TopicName {
    /// Whether the topic's records are written in transactions, whose markers take offsets too.
    package var hasTransactions: Bool {
        switch self {
        case .installations, .registry, .events, .groups, .expansionsUrgent, .expansions, .progress, .starts,
            .jobsUrgent, .jobs, .sendsTimed, .subscriptions, .schedulesAuto, .timers, .replies:
            true
        case .catalog, .reports, .sends, .superseded, .jobsLater5s, .jobsLater2m, .receipts, .schedules,
            .members, .audit, .auditSends, .deadLetters:
            false
        }
    }

    /// Whether a record is worthless before the topic's retention deletes it. An activity lives at most twelve
    /// hours, and these topics keep their records for a day or longer.
    package var expiresBeforeRetention: Bool {
        switch self {
        case .expansionsUrgent, .expansions, .jobsUrgent, .jobs, .jobsLater5s, .jobsLater2m: true
        default: false
        }
    }
}
