internal import CatalogRecords
internal import Foundation
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Payloads
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// A writer of sends that also reads the expansions, and so measures the time until they are visible.
final class SendTraffic {
    /// The bytes of an expansion within which the id of its send ends.
    private static let sendIDBytesMax = 60
    /// The first sends open connections, so they do not count.
    private static let warmUpSends = 20

    private let bed: TestBed
    private let writer: RecordWriter
    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)

    init(on bed: TestBed) throws {
        self.bed = bed
        writer = try RecordWriter(on: bed, to: .sends)
        consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
    }

    func stop() { _ = consumer.close() }

    func flush() throws {
        guard writer.finish() else { throw BenchmarkFailure("the sends were not stored") }
    }

    /// Writes a send to the group of one phone. It is a private group, and all of them have one name. If mixed, every
    /// second phone has a group with another name instead.
    func send(number: Int, round: Int, isMixed: Bool) {
        let user = "user-\(number)"
        let isPrivate = !isMixed || number % 2 == 0
        var content = PushContent(.update)
        content.contentState = state
        var send = Send(
            id: "r-\(round)-\(number)", app: TestBed.app.id, group: isPrivate ? "order" : "match-\(number)",
            audience: .users([user]), content: content, priority: .immediate, acceptedAt: 1_763_600_000_000)
        if isPrivate { send.owner = .user(user) }
        writer.write(key: send.scopeKey?.bytes, value: send.encoded())
    }

    /// A state of about 400 bytes, as for a delivery.
    private let state: RawJSON = {
        let text = "{\"stops\":\"" + String(repeating: "x", count: 380) + "\",\"minutes\":7}"
        var bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeMutableBytes { unsafe RawJSON(accepted: UnsafeRawBufferPointer($0)) }
    }()

    /// Reads only expansions that are written from now on.
    private func assignFromEnds() throws {
        let name = bed.layout.name(of: .expansionsUrgent)
        var starts: [PartitionStart] = []
        for lane in 0..<Int32(bed.layout.lanes) {
            let partition = TopicPartition(name, lane)
            starts.append(
                PartitionStart(
                    partition: partition, position: .offset(try consumer.watermarks(of: partition).high)))
        }
        try consumer.assign(startingAt: starts)
    }

    /// Calls `body` with the number of each send whose expansion became visible.
    private func poll(waitMilliseconds: Int32, forEach body: (Int) -> Void) {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        for index in 0..<batch.count {
            guard let value = batch[index].value else { continue }
            // The number is read in place: in `{"v":1,"send":"r-1-123", …` it is 123.
            var number = 0
            var dashes = 0
            for position in 0..<min(value.count, Self.sendIDBytesMax) {
                let byte = value[position]
                if byte == UInt8(ascii: "-") { dashes += 1 }
                if dashes == 2, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                    number = number * 10 + Int(byte - UInt8(ascii: "0"))
                }
                if dashes == 2, byte == UInt8(ascii: "\"") { break }
            }
            body(number)
        }
        batch.clear()
    }

    /// Measures sends one after the other: each is written when the expansion of the previous one is visible.
    func measureOneByOne(count: Int, limitMilliseconds: Int = 10_000) throws -> Latencies {
        try assignFromEnds()
        var latencies = Latencies()
        for number in 0..<count {
            let start = Instant.now()
            send(number: number, round: 1, isMixed: false)
            try flush()
            var isSeen = false
            while !isSeen {
                poll(waitMilliseconds: 100) { if $0 == number { isSeen = true } }
                if start.advanced(byMilliseconds: limitMilliseconds) < .now() {
                    throw BenchmarkFailure("a send was lost")
                }
            }
            if number >= Self.warmUpSends { latencies.append(Instant.now().seconds(since: start)) }
            usleep(20_000)
        }
        return latencies
    }

    /// Measures sends at a steady rate, each to the next group.
    func measureStream(perSecond rate: Int, seconds: Int, groups: Int) throws -> Latencies {
        try assignFromEnds()
        var latencies = Latencies()
        let count = rate * seconds
        var sendTimes: [Int: Instant] = [:]
        let start = Instant.now()
        var sentCount = 0
        var visibleCount = 0
        while visibleCount < count {
            let dueCount = min(count, Int(Instant.now().seconds(since: start) * Double(rate)))
            while sentCount < dueCount {
                // The groups take turns. So the previous send of a group was seen long ago, and one time for each group
                // is enough.
                let number = sentCount % groups
                sendTimes[number] = .now()
                send(number: number, round: 2, isMixed: true)
                sentCount += 1
            }
            poll(waitMilliseconds: 1) { number in
                guard let time = sendTimes.removeValue(forKey: number) else { return }
                visibleCount += 1
                latencies.append(Instant.now().seconds(since: time))
            }
            if start.advanced(byMilliseconds: (seconds + 60) * 1000) < .now() {
                throw BenchmarkFailure("\(count - visibleCount) sends were not seen")
            }
        }
        return latencies
    }
}
