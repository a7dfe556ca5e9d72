internal import CatalogRecords
internal import JSON
internal import Lifecycle

/// The events of one partition for one endpoint. Records go in, events come out, and the cursor knows which of them are
/// finished. It does no I/O.
struct PartitionEvents: Sendable {
    /// Makes events that need several records.
    private enum Collector: Sendable {
        case none
        case sends(SendCollector)
        case breakers(BreakerTracker)
        case deadLetters(DeadLetterCollector)
    }

    let source: WebhookSource
    let partition: Int32
    private let app: String
    /// The first part of the app's keys with its slash, so that records of other apps cost no decoding.
    private let keyPrefix: [UInt8]
    /// The types of events that the endpoint receives.
    private let types: Set<WebhookEventType>
    private(set) var cursor: PartitionCursor
    private var clock = PartitionClock()
    private var collector: Collector

    init(
        _ source: WebhookSource, partition: Int32, of endpoint: WebhookEndpoint, cursor: PartitionCursor
    ) {
        self.source = source
        self.partition = partition
        app = endpoint.app
        keyPrefix = Array((endpoint.app + "/").utf8)
        types = Set(endpoint.types)
        self.cursor = cursor
        collector =
            switch source {
            case .events, .reports: .none
            case .progress: .sends(SendCollector())
            case .members: .breakers(BreakerTracker())
            case .deadLetters: .deadLetters(DeadLetterCollector())
            }
    }

    /// Whether a record with this key can concern the endpoint.
    func concerns(key: Span<UInt8>) -> Bool {
        if !source.hasAppInKeys { return true }
        guard key.count >= keyPrefix.count else { return false }
        for index in keyPrefix.indices where key[index] != keyPrefix[index] { return false }
        return true
    }

    /// Notes a record that does not concern the endpoint.
    mutating func skip(_ offset: Int64, stampedAt stamp: Int64, at now: Instant) {
        clock.didRead(recordStampedAt: stamp, at: now)
        cursor.didRead(offset)
    }

    /// Reads the next record and returns the events that are complete now. Their offsets are held until `finish`.
    mutating func read(_ record: SourceRecord, with reader: JSONReader, at now: Instant) -> [WebhookEvent] {
        clock.didRead(recordStampedAt: record.stamp, at: now)
        let anchor = WebhookEvent.Anchor(source: source, partition: partition, offset: record.offset)
        let isWanted = cursor.isWanted(record.offset)
        var made: [WebhookEvent]
        switch collector {
        case .none:
            let event = isWanted ? singleEvent(of: record, at: anchor, with: reader) : nil
            made = event.map { [$0] } ?? []
            for event in made { cursor.hold(event.anchor.offset) }
        case .sends(var sends):
            made = sends.read(record, of: app, at: anchor, isWanted: isWanted, in: &cursor, with: reader)
            collector = .sends(sends)
        case .breakers(var breakers):
            made = breakers.read(record, of: app, at: anchor, with: reader)
            if !isWanted { made = [] }
            for event in made { cursor.hold(event.anchor.offset) }
            collector = .breakers(breakers)
        case .deadLetters(var letters):
            made = letters.read(record, of: app, at: anchor, isWanted: isWanted, in: &cursor)
            collector = .deadLetters(letters)
        }
        cursor.didRead(record.offset)
        return finishUnsubscribed(in: made)
    }

    /// Notes the end of a pause of reading.
    mutating func didResume(at now: Instant) { clock.didResume(at: now) }

    /// Returns the events whose wait for further records is over: sends that are overdue, and minutes of dead letters
    /// that have ended.
    mutating func collectDue(at now: Instant) -> [WebhookEvent] {
        guard let time = clock.time(at: now) else { return [] }
        let due: [WebhookEvent]
        switch collector {
        case .none, .breakers: due = []
        case .sends(var sends):
            due = sends.takeOverdue(at: time)
            collector = .sends(sends)
        case .deadLetters(var letters):
            due = letters.takeEnded(at: time, app: app)
            collector = .deadLetters(letters)
        }
        return finishUnsubscribed(in: due)
    }

    mutating func finish(_ event: WebhookEvent) { cursor.finish(event.anchor.offset) }

    mutating func recordAttempts(_ count: Int, of event: WebhookEvent) {
        cursor.recordAttempts(count, of: event.anchor.offset)
    }

    /// Finishes the events of types that the endpoint does not receive, and returns the other events.
    private mutating func finishUnsubscribed(in events: [WebhookEvent]) -> [WebhookEvent] {
        var subscribed: [WebhookEvent] = []
        for event in events {
            if types.contains(event.type) {
                subscribed.append(event)
            } else {
                cursor.finish(event.anchor.offset)
            }
        }
        return subscribed
    }

    private func singleEvent(
        of record: SourceRecord, at anchor: WebhookEvent.Anchor, with reader: JSONReader
    ) -> WebhookEvent? {
        source == .events
            ? WebhookEvent(eventRecord: record, at: anchor, with: reader)
            : WebhookEvent(deadTokenReport: record, at: anchor, with: reader)
    }
}
