internal import InstallationRecords
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Topics

/// The record that is sent for a dead letter when it is redriven, and its destination.
struct RedrivenRecord {
    /// The time that a job waits in the shorter retry tier, `jobs.later.5s`, before its push.
    static let retryTierMilliseconds: Int64 = 5_000

    /// The kind of writers that a topic has.
    enum Writers {
        case plain
        case transactional
    }

    let topic: TopicName
    let partition: Int32
    let writers: Writers
    private let letter: DeadLetterRecord

    /// Throws the reason if the dead letter can never be sent again.
    init(_ letter: DeadLetterRecord, layout: TopicLayout) throws(NotRedrivable) {
        self.letter = letter
        guard let origin = TopicName.allCases.first(where: { layout.name(of: $0) == letter.rejection.topic }),
            (0..<Int32(layout.partitionCount(of: origin))).contains(letter.rejection.partition)
        else { throw NotRedrivable(reason: .unknownTopic) }
        // Without content, the record was too large, and the stage kept only its position.
        let hasContent = letter.value != nil || letter.key != nil || !letter.headers.isEmpty
        guard hasContent else { throw NotRedrivable(reason: .notKept) }
        switch origin {
        // Senders write to the retry tiers outside of transactions, so a plain record is not hidden behind
        // the transaction of another writer, as it would be in `jobs`.
        case .jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m:
            guard letter.sheet != nil else { throw NotRedrivable(reason: .unreadable) }
            (topic, partition, writers) = (.jobsLater5s, letter.rejection.partition, .plain)
        case .reports, .sends, .schedules:
            let keyPartition = letter.key.map {
                Int32(Murmur2.partition(forKey: $0.span, partitionCount: layout.lanes))
            }
            (topic, partition, writers) = (origin, keyPartition ?? letter.rejection.partition, .plain)
        case .expansions, .expansionsUrgent, .sendsTimed, .subscriptions, .schedulesAuto:
            (topic, partition, writers) = (origin, letter.rejection.partition, .transactional)
        case .catalog, .installations, .registry, .events, .groups, .superseded, .progress, .starts,
            .receipts, .timers, .replies, .members, .audit, .auditSends, .deadLetters:
            throw NotRedrivable(reason: .unknownTopic)
        }
    }

    /// The dead letter can never be sent again.
    struct NotRedrivable: Error {
        let reason: ReplaySkipReason
    }

    /// Returns the record to send.
    ///
    /// - Parameters:
    ///   - lines: The lines of the sheet to send, or nil for a record that is not a sheet.
    ///   - now: Milliseconds since 1970.
    func outgoingRecord(lines: LineSet?, at now: Int64) -> OutgoingRecord {
        var headers = letter.headers
        func addHeader(_ name: StaticString, value: String) {
            headers.append(
                DeadLetterRecord.Header(name: Array(name.description.utf8), value: Array(value.utf8)))
        }
        if let lines, let sheet = letter.sheet, let to = letter.header(named: SheetHeaderName.to) {
            let origin = Array(SheetHeaderName.origin.description.utf8)
            let addressees = Array(SheetHeaderName.to.description.utf8)
            let unproven = Array(SheetHeaderName.unproven.description.utf8)
            headers.removeAll { $0.name == origin || $0.name == addressees || $0.name == unproven }
            headers.append(
                DeadLetterRecord.Header(name: addressees, value: sheet.index.encodedLines(lines, from: to)))
            if let value = UnprovenLines.headerValue(of: lines.positions(of: sheet.unprovenLines)) {
                headers.append(DeadLetterRecord.Header(name: unproven, value: value))
            }
            // The dead letter becomes the first position of the jobs, so that receipts about their earlier
            // pushes do not count for them.
            let newOrigin = SheetOrigin(
                topic: TopicName.deadLetters.rawValue, partition: letter.id.partition,
                offset: letter.id.offset, lines: lines, attempt: 1,
                dueAt: now + Self.retryTierMilliseconds)
            headers.append(DeadLetterRecord.Header(name: origin, value: newOrigin.headerValue))
        }
        if topic == .reports, letter.header(named: Report.receivedAtHeader) == nil {
            // Ingest merges the report by the time and the offset of its first arrival.
            addHeader(Report.receivedAtHeader, value: String(letter.rejection.writtenAt))
            addHeader(Report.offsetHeader, value: String(letter.rejection.offset))
        }
        addHeader(DeadLetterRecord.redrivenHeader, value: letter.id.text)
        return OutgoingRecord(
            topic: topic, partition: partition, key: letter.key, value: letter.value, headers: headers)
    }
}
