internal import Containers
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import StageSupport
internal import Telemetry
internal import Topics

/// The writer of the plan's records: it makes their bytes, hands them to the producer, and reports which ones are
/// stored. It is used on the thread of its loop only.
final class SenderWriter {
    private let makeProducer: () throws -> Producer
    private let layout: TopicLayout
    private let metrics: SenderMetrics
    private var producer: Producer
    private var topics: [TopicName: Topic] = [:]
    private var json = JSONWriter()
    /// Buffer for the producer's deliveries.
    private var deliveries: [Delivery] = []
    /// Records for which the producer's queue was full, in order.
    private var recordsAwaitingRoom = FIFOQueue<(id: UInt64, write: RecordToWrite)>()
    /// Ids of records that Kafka does not accept as they are.
    private var refusedRecords: [UInt64] = []

    /// The topics of the records.
    private static let writtenTopics: [TopicName] = [
        .receipts, .jobsLater5s, .jobsLater2m, .deadLetters, .reports,
    ]
    /// The tag of records whose delivery is not awaited.
    private static let unawaited: UInt64 = 0
    /// Limit of the headers that a dead letter adds to those of its record.
    private static let deadLetterHeadersMax = 9
    /// Limit of the headers of a sheet in the dead letters, which has the headers of both.
    private static let sheetHeadersMax = 16

    init(
        _ layout: TopicLayout, metrics: SenderMetrics, _ makeProducer: @escaping () throws -> Producer
    ) throws {
        self.layout = layout
        self.metrics = metrics
        self.makeProducer = makeProducer
        producer = try makeProducer()
        try openTopics()
    }

    private func openTopics() throws {
        for name in Self.writtenTopics { topics[name] = try producer.topic(named: layout.name(of: name)) }
    }

    var descriptor: Int32 { producer.descriptor }
    /// Whether the producer has failed for good.
    var hasFailed: Bool { producer.fatalError != nil }

    /// Makes a new producer. All unacknowledged records have to be written again.
    func replaceProducer() throws {
        producer = try makeProducer()
        try openTopics()
        deliveries.removeAll()
        recordsAwaitingRoom = FIFOQueue()
    }

    // MARK: Records

    /// Writes a record after those that wait for room in the producer's queue.
    func write(_ write: RecordToWrite, id: UInt64) {
        // A record that is written again was counted before.
        if !write.isRepeated { metrics.count(write) }
        let isSent = recordsAwaitingRoom.isEmpty && send(write, id: id)
        if !isSent { recordsAwaitingRoom.append((id, write)) }
    }

    /// Hands a record of the plan to the producer. Returns false if the producer's queue is full.
    private func send(_ write: RecordToWrite, id: UInt64) -> Bool {
        switch write.content {
        case .receipt: return sendReceipt(write, id: id)
        case .tier(let tier, let origin):
            guard let sheet = write.sheet else { return true }
            var headers = headers(of: sheet, lines: write.lines, origin: origin)
            return send(
                to: tier.topic, partition: write.lane, value: sheet.content.body.span, headers: &headers,
                id: id)
        case .deadLetter(let code): return sendDeadLetter(write, code: code, id: id)
        case .malformed(let record): return sendDeadLetter(of: record, write, id: id)
        }
    }

    private func sendReceipt(_ write: RecordToWrite, id: UInt64) -> Bool {
        guard let receipt = write.receipt else { return true }
        receipt.encode(to: &json)
        var headers = RecordHeaders(capacity: 1)
        let addressees = write.addressees
        if !addressees.isEmpty { headers.add(ReceiptLines.header, value: addressees.span) }
        return unsafe json.withBytes { bytes in
            unsafe send(
                to: .receipts, partition: write.lane, value: bytes.bindMemory(to: UInt8.self).span,
                headers: &headers, id: id)
        }
    }

    /// Sends jobs to the dead letters, as a sheet that can be sent again.
    private func sendDeadLetter(_ write: RecordToWrite, code: String, id: UInt64) -> Bool {
        guard let sheet = write.sheet else { return true }
        var headers = headers(
            of: sheet, lines: write.lines, origin: sheet.origin(of: write.lines, reason: write.reason))
        headers.add(
            DeadLetter(
                stage: SenderService.name, code: code, reason: Self.reason(of: write, code: code),
                topic: layout.name(of: sheet.topic.topic), partition: write.lane, offset: sheet.offset,
                writtenAt: sheet.head.acceptedAt, rejectedAt: write.writtenAt))
        return send(
            to: .deadLetters, partition: write.lane, value: sheet.content.body.span, headers: &headers,
            id: id)
    }

    /// Sends a malformed record to the dead letters as it is, with the headers of a dead letter after its own.
    private func sendDeadLetter(of record: MalformedSheet, _ write: RecordToWrite, id: UInt64) -> Bool {
        var headers = RecordHeaders(capacity: record.headers.count + Self.deadLetterHeadersMax)
        for header in record.headers { headers.add(named: header.name.span, value: header.value?.span) }
        headers.add(
            DeadLetter(
                stage: SenderService.name, code: record.error.code, reason: record.error.description,
                topic: layout.name(of: record.topic.topic), partition: write.lane, offset: record.offset,
                writtenAt: record.writtenAt, rejectedAt: write.writtenAt))
        return send(
            to: .deadLetters, partition: write.lane, key: record.key?.span, value: record.value?.span,
            headers: &headers, id: id)
    }

    /// Returns the headers of a sheet with some lines of another one.
    private func headers(of sheet: Sheet, lines: LineSet, origin: SheetOrigin) -> RecordHeaders {
        var headers = RecordHeaders(capacity: Self.sheetHeadersMax)
        headers.add(SheetHeaderName.apns, value: sheet.content.apns.span)
        headers.add(SheetHeaderName.flotilla, value: sheet.content.flotilla.span)
        headers.add(SheetHeaderName.to, value: sheet.content.lines(lines, by: sheet.index).span)
        headers.add(SheetHeaderName.origin, value: origin.headerValue.span)
        if let value = UnprovenLines.headerValue(of: lines.positions(of: sheet.unprovenLines)) {
            headers.add(SheetHeaderName.unproven, value: value.span)
        }
        return headers
    }

    /// Returns the reason of a dead letter as text, for example `request_faulty: APNs said status 400 BadMessageId`.
    private static func reason(of write: RecordToWrite, code: String) -> String {
        let answer = [write.status.map { "status \($0)" }, write.reason].compactMap { $0 }.joined(
            separator: " ")
        return answer.isEmpty ? code : "\(code): APNs said \(answer)"
    }

    /// Writes the marker of a takeover to a lane's `receipts`. Returns false if the producer does not take it now.
    ///
    /// - Parameter tag: the tag of the delivery.
    func write(_ marker: TakeoverMarker, inLane lane: Int32, tag: UInt64) -> Bool {
        guard let target = topics[.receipts] else { preconditionFailure("the topic was not opened") }
        var headers = RecordHeaders(capacity: 1)
        headers.add(TakeoverMarker.header, value: marker.headerValue.span)
        return producer.send(
            to: target, partition: lane, key: nil, value: nil, headers: &headers, tag: tag) == .queued
    }

    /// Writes a report of a dead or a proven token. If it is lost with the process, a later push finds the fact again.
    func report(_ report: Report) {
        report.encode(to: &json)
        var headers = RecordHeaders(capacity: 0)
        let key = report.key
        _ = unsafe json.withBytes { bytes in
            unsafe send(
                to: .reports, partition: nil, key: key.span, value: bytes.bindMemory(to: UInt8.self).span,
                headers: &headers, id: Self.unawaited)
        }
    }

    /// Hands a record to the producer. Returns false if its queue is full.
    ///
    /// - Parameter id: the tag of the delivery.
    private func send(
        to topic: TopicName, partition: Int32?, key: Span<UInt8>? = nil, value: Span<UInt8>?,
        headers: inout RecordHeaders, id: UInt64
    ) -> Bool {
        guard let target = topics[topic] else { preconditionFailure("the topic was not opened") }
        let result = producer.send(
            to: target, partition: partition, key: key, value: value, headers: &headers, tag: id)
        switch result {
        case .queued: return true
        case .full: return false
        case .refused, .unusable:
            // The next `takeRefused` reports it.
            if id != Self.unawaited { refusedRecords.append(id) }
            return true
        }
    }

    // MARK: Deliveries

    /// Reports by id which records are stored and which are not. First it reports the newest of the stamps that the
    /// cluster gave them. Last it sends the records that waited for room.
    func reportDeliveries(
        stamped: (Int64) -> Void, stored: (UInt64, _ offset: Int64?) -> Void, failed: (UInt64) -> Void
    ) {
        _ = producer.collectDeliveries(into: &deliveries)
        if let stamp = deliveries.lazy.compactMap(\.brokerTimestamp).max() { stamped(stamp) }
        for delivery in deliveries where delivery.tag != Self.unawaited {
            switch delivery.outcome {
            case .stored(let offset):
                metrics.written.add()
                stored(delivery.tag, offset >= 0 ? offset : nil)
            case .notStored, .unknown:
                metrics.writeFailures.add()
                failed(delivery.tag)
            }
        }
        deliveries.removeAll(keepingCapacity: true)
        while let next = recordsAwaitingRoom.first {
            let isSent = send(next.write, id: next.id)
            if !isSent { break }
            recordsAwaitingRoom.removeFirst()
        }
    }

    /// Removes the ids of newly refused records, and returns them.
    func takeRefused() -> [UInt64] {
        let ids = refusedRecords
        refusedRecords.removeAll()
        return ids
    }

    /// Waits until all records are delivered, or the limit is over.
    func flush(withinMilliseconds limit: Int) {
        _ = producer.flush(withinMilliseconds: limit, into: &deliveries)
    }
}
