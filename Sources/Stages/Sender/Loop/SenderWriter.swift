internal import Containers
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Telemetry
internal import Topics

/// The writer of the plan's records. It reports which ones are stored. It is pinned to its loop.
final class SenderWriter {
    private let make: () throws -> Producer
    private let layout: TopicLayout
    private let metrics: SenderMetrics
    private var producer: Producer
    private var topics: [TopicName: Topic] = [:]
    private var json = JSONWriter()
    private var deliveries: [Delivery] = []
    /// Records for which the producer's queue was full, in order.
    private var waiting = FIFOQueue<(id: UInt64, write: RecordToWrite)>()

    private static let targets: [TopicName] = [.receipts, .jobsLater5s, .jobsLater2m, .deadLetters, .reports]
    /// The tag of records whose delivery is not awaited.
    private static let unawaited: UInt64 = 0

    init(_ layout: TopicLayout, metrics: SenderMetrics, _ make: @escaping () throws -> Producer) throws {
        self.layout = layout
        self.metrics = metrics
        self.make = make
        producer = try make()
        try open()
    }

    private func open() throws {
        for name in Self.targets { topics[name] = try producer.topic(named: layout.name(of: name)) }
    }

    var descriptor: Int32 { producer.descriptor }
    var isRuined: Bool { producer.fatalError != nil }

    /// Makes a new producer. Everything unacknowledged has to be written again.
    func rebuild() throws {
        producer = try make()
        try open()
        deliveries.removeAll()
        waiting = FIFOQueue()
    }

    // MARK: Records

    func write(_ write: RecordToWrite, id: UInt64) {
        if !waiting.isEmpty || !send(write, id: id) { waiting.append((id, write)) }
    }

    /// Returns false if the producer's queue is full.
    private func send(_ write: RecordToWrite, id: UInt64) -> Bool {
        switch write.content {
        case .receipt:
            guard let receipt = write.receipt else { return true }
            receipt.encode(to: &json)
            var headers = RecordHeaders(capacity: 1)
            let addressees = write.addressees
            if !addressees.isEmpty { headers.add(ReceiptLines.header, value: addressees.span) }
            let isSent = unsafe json.withBytes { bytes in
                unsafe send(
                    to: .receipts, partition: write.lane, value: bytes.bindMemory(to: UInt8.self).span,
                    headers: &headers, id: id)
            }
            if isSent { metrics.count(receipt) }
            return isSent
        case .tier(let tier, let origin):
            guard let sheet = write.sheet else { return true }
            var headers = headers(of: sheet, lines: write.lines, origin: origin)
            return send(
                to: tier.topic, partition: write.lane, value: sheet.content.body.span, headers: &headers,
                id: id)
        case .deadLetter(let code):
            guard let sheet = write.sheet else { return true }
            var headers = headers(
                of: sheet, lines: write.lines, origin: sheet.origin(of: write.lines, reason: write.reason))
            let letter = DeadLetter(
                stage: SenderService.name, code: code, reason: Self.reason(of: write, code: code),
                topic: layout.name(of: sheet.topic.topic), partition: write.lane, offset: sheet.offset,
                writtenAt: sheet.head.acceptedAt, rejectedAt: write.writtenAt)
            headers.add(letter)
            let isSent = send(
                to: .deadLetters, partition: write.lane, value: sheet.content.body.span, headers: &headers,
                id: id)
            if isSent { metrics.deadLetters(code).add(write.lines.count) }
            return isSent
        case .malformed(let record):
            var headers = RecordHeaders(capacity: record.headers.count + 9)
            for header in record.headers { headers.add(named: header.name.span, value: header.value?.span) }
            headers.add(
                DeadLetter(
                    stage: SenderService.name, code: record.error.code, reason: record.error.description,
                    topic: layout.name(of: record.topic.topic), partition: write.lane, offset: record.offset,
                    writtenAt: record.writtenAt, rejectedAt: write.writtenAt))
            let isSent = send(
                to: .deadLetters, partition: write.lane, key: record.key?.span, value: record.value?.span,
                headers: &headers, id: id)
            if isSent { metrics.deadLetters(record.error.code).add() }
            return isSent
        }
    }

    private func headers(of sheet: Sheet, lines: LineSet, origin: SheetOrigin) -> RecordHeaders {
        var headers = RecordHeaders(capacity: 16)
        headers.add(SheetHeaderName.apns, value: sheet.content.apns.span)
        headers.add(SheetHeaderName.flotilla, value: sheet.content.flotilla.span)
        headers.add(SheetHeaderName.to, value: sheet.content.lines(lines, by: sheet.index).span)
        headers.add(SheetHeaderName.origin, value: origin.headerValue.span)
        return headers
    }

    private static func reason(of write: RecordToWrite, code: String) -> String {
        let answer = [write.status.map { "status \($0)" }, write.reason].compactMap { $0 }.joined(
            separator: " ")
        return answer.isEmpty ? code : "\(code): APNs said \(answer)"
    }

    /// Writes a report of a dead token. If it is lost with the process, the next push finds the dead token
    /// again.
    func report(_ report: Report) {
        report.encode(to: &json)
        var headers = RecordHeaders(capacity: 0)
        let key = report.key
        _ = unsafe json.withBytes { bytes in
            unsafe send(
                to: .reports, partition: nil, key: key.span, value: bytes.bindMemory(to: UInt8.self).span,
                headers: &headers, id: Self.unawaited)
        }
        metrics.deadTokens.add()
    }

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
        case .refused, .rebuild:
            // The next `takeRefused` reports it.
            if id != Self.unawaited { refused.append(id) }
            return true
        }
    }

    private var refused: [UInt64] = []

    // MARK: Deliveries

    /// Reports by id which records are stored and which are not. First it reports the newest of their stamps
    /// from the cluster.
    func collect(
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
        while let next = waiting.first, send(next.write, id: next.id) { waiting.removeFirst() }
    }

    /// Returns the newly refused records. Kafka does not accept them as they are.
    func takeRefused() -> [UInt64] {
        defer { refused.removeAll() }
        return refused
    }

    func flush(withinMilliseconds limit: Int) {
        _ = producer.flush(withinMilliseconds: limit, into: &deliveries)
    }
}

extension RecordHeaders {
    fileprivate mutating func add(_ letter: DeadLetter) {
        for (name, value) in letter.headers {
            let (name, value) = (Array(name.rawValue.utf8), Array(value.utf8))
            add(named: name.span, value: value.span)
        }
    }
}
