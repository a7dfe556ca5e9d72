/// The table of topics: the number of partitions, and the retention.
extension TopicLayout {
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 24 * hour
    /// A record of 4 MiB with space for its key and headers.
    private static let largeRecordBytes = 4 << 20 + 1 << 16
    /// Any record with the headers of a dead letter.
    private static let deadLetterBytes = largeRecordBytes + 1 << 16

    func need(of topic: TopicName) -> TopicNeed {
        func kept(_ time: Int64, bytes: Int? = nil) -> TopicNeed {
            TopicNeed(partitions: lanes, cleanup: .delete(afterMilliseconds: time), recordBytesMax: bytes)
        }
        func state(_ partitions: Int, _ time: Int64? = nil) -> TopicNeed {
            TopicNeed(
                partitions: partitions,
                cleanup: time.map { .compactAndDelete(afterMilliseconds: $0) } ?? .compact)
        }
        switch topic {
        case .catalog: return state(1)
        case .installations, .registry, .groups, .timers: return state(lanes)
        case .events, .deadLetters:
            return kept(30 * Self.day, bytes: topic == .deadLetters ? Self.deadLetterBytes : nil)
        case .sends, .sendsTimed: return kept(7 * Self.day, bytes: Self.largeRecordBytes)
        case .superseded, .members: return state(1, Self.day)
        case .expansionsUrgent, .expansions: return kept(Self.day, bytes: Self.largeRecordBytes)
        case .starts: return state(lanes, 2 * Self.day)
        case .jobsUrgent, .jobs: return kept(Self.day)
        case .jobsLater5s, .jobsLater2m: return kept(2 * Self.day)
        case .reports, .progress, .receipts, .schedules, .schedulesAuto: return kept(7 * Self.day)
        case .replies: return kept(Self.hour)
        case .audit: return kept(400 * Self.day)
        }
    }
}

extension TopicLayout {
    /// Whether the topic keeps the newest record of each key.
    package func isCompacted(_ topic: TopicName) -> Bool { need(of: topic).cleanup.isCompacting }

    /// Whether the topic's records are deleted at an age.
    package func isDeletedByTime(_ topic: TopicName) -> Bool {
        need(of: topic).cleanup.retentionMilliseconds != nil
    }
}

extension TopicName {
    /// Whether the topic's records are written in transactions, whose markers take offsets too.
    package var hasTransactions: Bool {
        switch self {
        case .installations, .registry, .events, .groups, .expansionsUrgent, .expansions, .progress, .starts,
            .jobsUrgent, .jobs, .sendsTimed, .schedulesAuto, .timers, .replies:
            true
        case .catalog, .reports, .sends, .superseded, .jobsLater5s, .jobsLater2m, .receipts, .schedules,
            .members, .audit, .deadLetters:
            false
        }
    }

    /// Whether a record is worthless before the topic's retention deletes it. An activity lives at most twelve hours, and
    /// these topics keep their records for a day or longer.
    package var expiresBeforeRetention: Bool {
        switch self {
        case .expansionsUrgent, .expansions, .jobsUrgent, .jobs, .jobsLater5s, .jobsLater2m: true
        default: false
        }
    }
}
