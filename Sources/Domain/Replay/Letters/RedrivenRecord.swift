internal import Kafka
internal import LiveActivity
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
    private let letter: Letter

    /// Throws the reason if the dead letter can never be sent again.
    init(_ letter: Letter, _ layout: TopicLayout) throws(Unsendable) {
        self.letter = letter
        guard let origin = TopicName.allCases.first(where: { layout.name($0) == letter.why.topic }),
            (0..<Int32(layout.partitions(origin))).contains(letter.why.partition)
        else { throw Unsendable(.unknownTopic) }
        // The stage kept only the place of the record, because the record was too large.
        guard letter.value != nil || letter.key != nil || !letter.headers.isEmpty else {
            throw Unsendable(.notKept)
        }
        switch origin {
        case .jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m:
            guard letter.sheet != nil else { throw Unsendable(.unreadable) }
            (topic, partition, writers) = (.jobsLater5s, letter.why.partition, .plain)
        case .reports, .sends, .schedules:
            let home = letter.key.map { Int32(Murmur2.partition(of: $0.span, of: layout.lanes)) }
            (topic, partition, writers) = (origin, home ?? letter.why.partition, .plain)
        case .expansions, .expansionsUrgent, .sendsTimed, .schedulesAuto:
            (topic, partition, writers) = (origin, letter.why.partition, .transactional)
        case .catalog, .installations, .registry, .events, .groups, .superseded, .progress, .starts,
            .receipts, .timers, .replies, .members, .audit, .deadLetters:
            throw Unsendable(.unknownTopic)
        }
    }

    struct Unsendable: Error {
        let objection: Objection
        init(_ objection: Objection) { self.objection = objection }
    }

    /// Returns the record to send.
    ///
    /// - Parameters:
    ///   - lines: The lines of a sheet to send.
    ///   - now: Milliseconds since 1970.
    func record(_ lines: LineSet?, at now: Int64) -> OutgoingRecord {
        var headers = letter.headers
        func add(_ name: StaticString, _ value: String) {
            headers.append(
                Letter.Header(name: Array(name.description.utf8), value: Array(value.utf8)))
        }
        if let lines, let sheet = letter.sheet, let to = letter.header(SheetHeader.to) {
            let origin = Array(SheetHeader.origin.description.utf8)
            let addressees = Array(SheetHeader.to.description.utf8)
            headers.removeAll { $0.name == origin || $0.name == addressees }
            headers.append(
                Letter.Header(name: addressees, value: sheet.index.lines(lines, of: to)))
            let place = SheetOrigin(
                topic: TopicName.deadLetters.rawValue, partition: letter.name.partition,
                offset: letter.name.offset, lines: lines, attempt: 1,
                dueAt: now + Self.tierMilliseconds)
            headers.append(Letter.Header(name: origin, value: place.headerLines))
        }
        if topic == .reports, letter.header(Report.receivedAtHeader) == nil {
            // The report counts from its first arrival, not from now.
            add(Report.receivedAtHeader, String(letter.why.writtenAt))
            add(Report.offsetHeader, String(letter.why.offset))
        }
        add(Letter.redriven, letter.name.text)
        return OutgoingRecord(
            topic: topic, partition: partition, key: letter.key, value: letter.value, headers: headers)
    }

    static let tierMilliseconds: Int64 = 5_000
}
