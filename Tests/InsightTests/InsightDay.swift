import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import Jobs
import Kafka
import Lifecycle
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing
import Topics

@testable import Insight

/// The receipts and events of a random day, written to their topics as senders and ingest write them. `expectFiles`
/// compares the files that the stage makes of them with an independent count.
struct InsightDay {
    static let lanes = 3
    private static let dayMilliseconds = 86_400_000

    private var day: RandomDay
    private var random: SeededGenerator

    init(seed: Int) {
        day = RandomDay(seed: seed)
        random = SeededGenerator(seed: seed &+ 1000)
    }

    /// Writes the receipts of some sheets, then some events, and waits until they are stored.
    mutating func write(sheets: Int, events: Int, to bed: TestBed) throws {
        try writeReceipts(sheets: sheets, to: bed)
        let writer = try RecordWriter(on: bed, to: .events)
        for _ in 0..<events {
            let event = nextEvent()
            writer.write(key: event.key, value: event.encoded())
        }
        // An unreadable record does not stop the others.
        writer.write(key: nil, value: Array("{".utf8), partition: 0)
        #expect(writer.finish())
    }

    /// Writes the receipts of some sheets. All receipts of a sheet go to one lane, like its jobs.
    private mutating func writeReceipts(sheets: Int, to bed: TestBed) throws {
        let producer = try Producer(settings: bed.settings, name: "day", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .receipts))
        var deliveries: [Delivery] = []
        for receipt in day.receipts(sheets: sheets) {
            var headers = RecordHeaders(capacity: 1)
            let lines = Self.lines(of: receipt)
            headers.add(ReceiptLines.header, value: lines.span)
            let value = receipt.encoded()
            while producer.send(
                to: topic, partition: Int32(receipt.position.offset) % Int32(Self.lanes), key: nil,
                value: value.span, headers: &headers, tag: 0) == .full
            {
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 10)
            }
        }
        _ = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        #expect(!deliveries.isEmpty && deliveries.allSatisfy(\.isStored))
    }

    private mutating func nextEvent() -> Event {
        let hasUser = random.number(below: 3) > 0
        return Event(
            Event.Code.allCases[random.number(below: Event.Code.allCases.count)],
            app: random.number(below: 2) == 0 ? "flash" : "other", environment: .production,
            installation: "phone-\(random.number(below: 50))",
            user: hasUser ? "user-\(random.number(below: 30))" : nil,
            attributesType: random.number(below: 3) == 0 ? nil : "Match",
            group: random.number(below: 2) == 0 ? nil : "match-\(random.number(below: 3))",
            eventTime: RandomDay.start + Int64(random.number(below: Self.dayMilliseconds)),
            receivedAt: RandomDay.start + Int64(Self.dayMilliseconds))
    }

    /// Returns the header `to` of a receipt: phone, row and user of each job.
    private static func lines(of receipt: Receipt) -> [UInt8] {
        let count = receipt.parts.reduce(0) { $0 + $1.lines.count }
        return Array(
            (0..<count).map { "phone-\($0)\tupdate:a\(receipt.position.offset)\tu:user-\($0)\n" }.joined()
                .utf8)
    }
}

/// Compares the files of all lanes with an independent count of the topics. No process may have the files open.
func expectFiles(in directory: String, matchTopicsOf bed: TestBed) throws {
    let reader = JSONReader()
    let records = try TopicContent(of: .receipts, in: bed).records
    let receipts = try records.map { try Receipt.decode(#require($0.value), with: reader) }
    let expected = IndependentCount(of: receipts)
    var reports: [SendTally.Key: SendReport] = [:]
    var receiptRowCount = 0
    var eventCounts: [EventCounts.Key: Int] = [:]
    var eventRowCount = 0
    for lane in 0..<Int32(InsightDay.lanes) {
        let files = try InsightFiles(bed, lane: lane, directory: directory)
        for key in expected.outcomes.keys {
            let report = try files.receipts.report(of: key.send, app: key.app)
            reports[key, default: SendReport()].merge(report)
        }
        receiptRowCount += try files.receipts.rowCount(of: .receipts)
        try files.events.forEachCount { key, count in eventCounts[key, default: 0] += count }
        eventRowCount += try files.events.eventCount()
        try files.close()
    }
    #expect(!expected.outcomes.isEmpty)
    for (key, outcomes) in expected.outcomes {
        let tally = reports[key]?.environments[key.environment]
        #expect(tally?.outcomes == outcomes, "send \(key.send)")
        #expect(tally?.latencies.count == expected.latencies[key, default: []].count)
    }
    #expect(receiptRowCount == receipts.count)

    var expectedCounts = EventCounts()
    var readableEventCount = 0
    for record in try TopicContent(of: .events, in: bed).records {
        guard let value = record.value, let event = try? Event.decode(value, with: reader) else { continue }
        expectedCounts.add(event)
        readableEventCount += 1
    }
    #expect(eventCounts == expectedCounts.counts)
    #expect(eventRowCount == readableEventCount && readableEventCount > 0)
}

/// The files of one lane, opened by the test while no process has them open.
struct InsightFiles {
    let receipts: ReceiptFile
    let events: EventFile

    init(_ bed: TestBed, lane: Int32, directory: String) throws {
        let consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "judge",
            log: .silent, metrics: Metrics())
        let cluster = try #require(consumer.clusterID())
        _ = consumer.close()
        let state = "\(directory)/slot-0/insight"
        receipts = try ReceiptFile(
            directory: "\(state)/receipts-\(lane)", of: TopicPartition(bed.layout.name(of: .receipts), lane),
            cluster: cluster, limits: EnvironmentLimits(), boot: BootID.current(),
            reader: JSONReader())
        events = try EventFile(
            directory: "\(state)/events-\(lane)", of: TopicPartition(bed.layout.name(of: .events), lane),
            cluster: cluster)
        #expect(receipts.openingState == .resumed)
        #expect(events.openingState == .resumed)
    }

    func close() throws {
        try receipts.close()
        try events.close()
    }
}
