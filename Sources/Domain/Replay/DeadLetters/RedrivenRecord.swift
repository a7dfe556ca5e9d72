internal import InstallationRecords
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Topics

/// The record that a dead letter becomes when it is sent again, with its destination.
struct RedrivenRecord {
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
        // The stage kept only the place of the record, because the record was too large.
        guard letter.value != nil || letter.key != nil || !letter.headers.isEmpty else {
            throw NotRedrivable(reason: .notKept)
        }
        switch origin {
        case .jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m:
            guard letter.sheet != nil else { throw NotRedrivable(reason: .unreadable) }
            (topic, partition, writers) = (.jobsLater5s, letter.rejection.partition, .plain)
        case .reports, .sends, .schedules:
            let home = letter.key.map {
                Int32(Murmur2.partition(forKey: $0.span, partitionCount: layout.lanes))
            }
            (topic, partition, writers) = (origin, home ?? letter.rejection.partition, .plain)
        case .expansions, .expansionsUrgent, .sendsTimed, .schedulesAuto:
            (topic, partition, writers) = (origin, letter.rejection.partition, .transactional)
        case .catalog, .installations, .registry, .events, .groups, .superseded, .progress, .starts,
            .receipts, .timers, .replies, .members, .audit, .deadLetters:
            throw NotRedrivable(reason: .unknownTopic)
        }
    }

    struct NotRedrivable: Error {
        let reason: ReplaySkipReason
        init(reason objection: ReplaySkipReason) { self.reason = objection }
    }

    /// Returns the record to send.
    ///
    /// - Parameters:
    ///   - lines: The lines of a sheet to send.
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
            headers.removeAll { $0.name == origin || $0.name == addressees }
            headers.append(
                DeadLetterRecord.Header(name: addressees, value: sheet.index.encodedLines(lines, from: to)))
            let place = SheetOrigin(
                topic: TopicName.deadLetters.rawValue, partition: letter.id.partition,
                offset: letter.id.offset, lines: lines, attempt: 1,
                dueAt: now + Self.retryTierMilliseconds)
            headers.append(DeadLetterRecord.Header(name: origin, value: place.headerValue))
        }
        if topic == .reports, letter.header(named: Report.receivedAtHeader) == nil {
            // The report counts from its first arrival, not from now.
            addHeader(Report.receivedAtHeader, value: String(letter.rejection.writtenAt))
            addHeader(Report.offsetHeader, value: String(letter.rejection.offset))
        }
        addHeader(DeadLetterRecord.redrivenHeader, value: letter.id.text)
        return OutgoingRecord(
            topic: topic, partition: partition, key: letter.key, value: letter.value, headers: headers)
    }

    static let retryTierMilliseconds: Int64 = 5_000
}
