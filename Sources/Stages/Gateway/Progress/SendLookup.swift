internal import JSON
package import Kafka
package import Lifecycle
package import LiveActivity
internal import Synchronization
internal import Telemetry
package import Topics

/// The lookup of sends. It reads `progress`, then `timers` for sends that wait for their time, then `sends`
/// for sends that are not planned yet. It runs on one thread.
package final class SendLookup: Sendable {
    package enum LookupResult: Sendable {
        case send(SendProgress)
        case notFound
        /// The search reached its time limit.
        case timedOut
        case unavailable
    }

    private let search: LoopOwned<SendSearch>
    private let waiting = Atomic<Int>(0)

    package init(cluster: Cluster, layout: TopicLayout, context: ServiceContext) throws {
        search = try LoopOwned(thread: "lookups") {
            SendSearch(cluster: cluster, layout: layout, context: context, on: $0.loop)
        }
    }

    package func stop() { search.stop { $0.close() } }

    /// Finds a send and passes the result to `then`.
    ///
    /// - Parameters:
    ///   - app: The app of the caller. A send of another app is reported as `nothing`.
    ///   - time: The time of acceptance in milliseconds since 1970, if the caller knows it better than the
    ///   id.
    /// - Returns: False if too many lookups wait. Then `then` is not called.
    package func find(
        _ id: SendID, of app: String, since time: Int64?, then: @escaping @Sendable (LookupResult) -> Void
    ) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.lookupsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let began = Instant.now()
        let isTaken = search.execute {
            self.waiting.subtract(1, ordering: .relaxed)
            then($0.find(id, of: app, since: time ?? id.acceptedAt, began: began))
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }

}

/// The search of one send at a time. There is no index. An id names the partition, and nearly always the time
/// of acceptance. Without a time the search goes backwards from the newest records.
private final class SendSearch {
    /// The clock difference between gateways that the search tolerates.
    private static let marginMilliseconds: Int64 = 60_000
    /// The number of records in the first step backwards. Each further step reads ten times as many.
    private static let firstStepRecords: Int64 = 20_000

    /// The time without a search after which the client is closed. It needs four threads.
    private static let idleMilliseconds = 60_000

    private let cluster: Cluster
    private let layout: TopicLayout
    private let context: ServiceContext
    private var idleTimer: LoopTimer?
    private let reader = JSONReader()
    private var consumer: Consumer?
    private var batch = RecordBatch(recordsMax: 10_000)

    init(cluster: Cluster, layout: TopicLayout, context: ServiceContext, on loop: EventLoop) {
        self.cluster = cluster
        self.layout = layout
        self.context = context
        idleTimer = LoopTimer(on: loop) { [unowned self] in disconnect() }
    }

    func close() {
        idleTimer?.cancel()
        disconnect()
    }

    private func disconnect() {
        batch.clear()
        _ = consumer?.close(withinMilliseconds: 500)
        consumer = nil
    }

    func find(_ id: SendID, of app: String, since time: Int64?, began: Instant) -> SendLookup.LookupResult {
        defer { idleTimer?.schedule(at: Instant.now().advanced(byMilliseconds: Self.idleMilliseconds)) }
        let until = Instant.now().advanced(byMilliseconds: GatewayLimits.lookupMilliseconds)
        do {
            let key = RecordKey.join(id.text)
            let lane = Murmur2.partition(forKey: key.span, partitionCount: layout.lanes)
            var progress = SendProgress(id: id.text)
            let isWhole = try read(partition(lane, of: .progress), since: time, until: until) { record in
                guard let found = [UInt8](copying: record.key), found == key,
                    let value = [UInt8](copying: record.value),
                    let part = try? ProgressRecord.decode(value, with: reader)
                else { return false }
                progress.add(part)
                // A finished send can still be cancelled, so the search continues to the end of the
                // partition.
                return false
            } isFound: {
                progress.key != nil
            }
            if let known = progress.key { return known.app == app ? .send(progress) : .notFound }
            if let partition = id.timersPartition {
                let (row, isWholeToo) = try findTimer(id, in: partition, since: time, until: until)
                if let row { return row.app == app ? .send(SendProgress(waiting: row)) : .notFound }
                if !isWholeToo { return .timedOut }
            }
            var send: Send?
            let topic = id.timersPartition == nil ? TopicName.sends : .sendsTimed
            let mark = Array(#"{"v":\#(Send.schemaVersion),"id":"\#(id.text)""#.utf8)
            let isWholeToo = try read(partition(id.partition, of: topic), since: time, until: until) {
                record in
                guard let span = record.value, span.starts(with: mark),
                    let value = [UInt8](copying: record.value),
                    case .send(let found)? = try? SendRequest.decode(value, with: reader)
                else { return false }
                send = found
                return true
            } isFound: {
                send != nil
            }
            if let send { return send.app == app ? .send(SendProgress(waiting: send)) : .notFound }
            return isWhole && isWholeToo ? .notFound : .timedOut
        } catch {
            context.log.warning("cannot search for a send; the call gets 503", .field("error", "\(error)"))
            consumer = nil
            return .unavailable
        }
    }

    /// Returns the timer row of a send, and whether every record that could hold the row was read.
    private func findTimer(
        _ id: SendID, in number: Int, since time: Int64?, until: Instant
    ) throws -> (TimerRow?, isWhole: Bool) {
        var row: TimerRow?
        var key: [UInt8]?
        let mark = Array(#""id":"\#(id.text)""#.utf8)
        let isWhole = try read(partition(number, of: .timers), since: time, until: until) { record in
            guard let value = record.value else {
                // The timer has fired or was cancelled.
                if key != nil, key == [UInt8](copying: record.key) { row = nil }
                return false
            }
            guard value.contains(bytes: mark), let bytes = [UInt8](copying: record.value),
                let found = try? TimerRow.decode(bytes, with: reader), found.send.id == id.text
            else { return false }
            (row, key) = (found, [UInt8](copying: record.key))
            return false
        } isFound: {
            key != nil
        }
        return (row, isWhole)
    }

    private func partition(_ number: Int, of topic: TopicName) -> TopicPartition {
        TopicPartition(layout.name(of: topic), Int32(number))
    }

    /// Reads from a time onwards. If that finds nothing, reads backwards from the newest records. Returns
    /// whether every record that could match was read.
    private func read(
        _ partition: TopicPartition, since time: Int64?, until: Instant,
        take: (borrowing Kafka.Record) -> Bool, isFound: () -> Bool
    ) throws -> Bool {
        let consumer = try openConsumer()
        let ends = try consumer.watermarks(
            of: partition, withinMilliseconds: remainingMilliseconds(until: until))
        var start = ends.high
        if let time {
            let asked = max(0, time - Self.marginMilliseconds)
            let answer = try consumer.offsets(
                atMilliseconds: asked, in: [partition],
                withinMilliseconds: remainingMilliseconds(until: until))
            start = (answer[partition] ?? nil) ?? ends.high
            let isWhole = try read(partition, from: start, to: ends.high, until: until, take: take)
            if isFound() || !isWhole { return isWhole }
        }
        // The time may come from a wrong clock.
        var size = Self.firstStepRecords
        while start > ends.low {
            let next = max(ends.low, start - size)
            guard try read(partition, from: next, to: start, until: until, take: take) else { return false }
            if isFound() {
                // Records after the match may have been skipped because the match was not known yet.
                return try read(partition, from: next, to: ends.high, until: until, take: take)
            }
            (start, size) = (next, size * 10)
        }
        return true
    }

    /// Returns false if the time limit came before the end.
    private func read(
        _ partition: TopicPartition, from start: Int64, to end: Int64, until: Instant,
        take: (borrowing Kafka.Record) -> Bool
    ) throws -> Bool {
        guard start < end else { return true }
        let consumer = try openConsumer()
        try consumer.assign(startingAt: [PartitionStart(partition: partition, position: .offset(start))])
        defer { try? consumer.release() }
        while Instant.now() < until {
            let events = consumer.poll(into: &batch, waitMilliseconds: 20)
            defer { batch.clear() }
            var isOver = false
            for index in 0..<batch.count where !isOver {
                if batch[index].offset >= end {
                    isOver = true
                } else if take(batch[index]) {
                    isOver = true
                }
            }
            if isOver || (consumer.position(in: partition) ?? start) >= end { return true }
            for event in events {
                switch event {
                case .reachedEnd: return true
                case .failed(.rebuild(let error)): throw error
                case .failed(.outOfRange): return true
                default: break
                }
            }
        }
        return false
    }

    private func remainingMilliseconds(until: Instant) -> Int { max(100, until.milliseconds(since: .now())) }

    private func openConsumer() throws -> Consumer {
        if let consumer { return consumer }
        var options = ConsumerOptions(membership: .manual)
        // The end of the partition shows only when a fetch returns empty, so fetches must return quickly.
        options.fetchWaitMilliseconds = 10
        let made = try Consumer(
            settings: cluster.settings, options: options, name: "gateway-lookups", log: context.log,
            metrics: context.metrics)
        consumer = made
        return made
    }
}

extension Span<UInt8> {
    fileprivate func contains(bytes mark: [UInt8]) -> Bool {
        guard count >= mark.count else { return false }
        return (0...count - mark.count).contains { start in
            mark.indices.allSatisfy { self[start + $0] == mark[$0] }
        }
    }

    fileprivate func starts(with mark: [UInt8]) -> Bool {
        guard count >= mark.count else { return false }
        for index in mark.indices where self[index] != mark[index] { return false }
        return true
    }
}
