internal import Kafka
internal import Lifecycle
internal import Telemetry

/// A producer that is shared by many requests. A request is settled when all of its records are on all
/// in-sync replicas, or when their fate is unknown. Confined to its loop.
final class Outbox<Request>: EventHandler {
    private static var tickMilliseconds: Int { 1000 }

    private let loop: EventLoop
    private let context: ServiceContext
    private let connect: () throws -> Producer
    private let names: [String]
    private let seen: () -> Void
    private let clock: GatewayClock
    /// Reports the outcome of a request.
    var settled: (Request, _ isStored: Bool) -> Void = { _, _ in }
    /// Receives the waiting requests once a second.
    var watched: ([Request]) -> Void = { _ in }
    private var timer: LoopTimer?
    private(set) var producer: Producer
    private var topics: [Topic]
    private var waiting = WaitingRequests<Request>()
    private var deliveries: [Delivery] = []

    /// - Parameters:
    ///   - topics: Topic names with their prefix. A record names its topic by the index in this list.
    ///   - seen: Runs after each acknowledgement from Kafka.
    init(
        _ settings: KafkaSettings, topics names: [String], limits: GatewayLimits, on loop: EventLoop,
        context: ServiceContext, clock: GatewayClock, seen: @escaping () -> Void
    ) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = limits.lingerMilliseconds
        options.deliveryMillisecondsMax = limits.acknowledgeMilliseconds
        let connect = { [options] in
            try Producer(settings, options, name: loop.name, log: context.log, metrics: context.metrics)
        }
        self.connect = connect
        self.names = names
        self.loop = loop
        self.context = context
        self.seen = seen
        self.clock = clock
        let producer = try connect()
        self.producer = producer
        topics = try names.map { try producer.topic($0) }
    }

    /// Starts the outbox. The callbacks must be set before.
    func start() throws {
        try register()
        timer = LoopTimer(on: loop) { [unowned self] in tick() }
        tick()
    }

    /// Waits for the records in flight. The server has already stopped and answered 503 to all requests that
    /// still wait.
    func flush(by deadline: Instant) {
        let left = max(0, deadline.milliseconds(since: .now()))
        _ = producer.flush(withinMilliseconds: left, into: &deliveries)
        settle()
    }

    private func register() throws { try loop.register(producer.descriptor, for: .readable, self) }

    /// Sends all records of a request. `settled` reports the outcome.
    ///
    /// - Parameters:
    ///   - count: The number of records, at least one.
    ///   - lend: Calls its argument with the topic, key and value of the record with the given index.
    func send(
        _ request: Request, records count: Int,
        _ lend: (_ record: Int, _ send: (Int, Span<UInt8>, Span<UInt8>?) -> SendResult) -> SendResult
    ) {
        let tag = waiting.add(request, records: count)
        for record in 0..<count {
            let result = lend(record) { topic, key, value in
                producer.send(to: topics[topic], key: key, value: value, tag: tag)
            }
            switch result {
            case .queued: continue
            case .full: break
            case .refused(let code):
                context.log.error(
                    "kafka refuses the gateway's records", .field("code", code.name),
                    .field("remedy", code.remedy))
            case .rebuild(let code): return rebuild(code)
            }
            // The queued records settle through their deliveries. The others were never sent.
            return finish(waiting.settle(tag, records: count - record, isStored: false))
        }
    }

    private func tick() {
        timer?.schedule(at: loop.now.advanced(byMilliseconds: Self.tickMilliseconds))
        ready(.readable)
        if let error = producer.fatalError { rebuild(error.code) }
        watched(Array(waiting.requests))
    }

    func ready(_ readiness: Readiness) {
        while producer.collect(into: &deliveries) {}
        settle()
    }

    /// Replaces the failed producer. It is unknown whether the waiting records are stored, so their clients
    /// must retry. Open connections stay open.
    private func rebuild(_ code: ErrorCode) {
        context.log.warning("the producer failed and was replaced", .field("code", code.name))
        let lost = waiting.removeAll()
        loop.deregister(producer.descriptor)
        do {
            producer = try connect()
            topics = try names.map { try producer.topic($0) }
            try register()
        } catch {
            context.fail(error)
        }
        for request in lost { settled(request, false) }
    }

    private func settle() {
        var deliveries: [Delivery] = []
        swap(&deliveries, &self.deliveries)
        if deliveries.contains(where: \.isStored) { seen() }
        // One stamp is enough: the newest of the batch.
        if let stamp = deliveries.compactMap(\.stamp).max() { clock.saw(stamp) }
        for delivery in deliveries {
            if !delivery.isStored { unstored(delivery.outcome) }
            finish(waiting.settle(delivery.tag, isStored: delivery.isStored))
        }
        // Reuse the array's memory unless a callback queued new deliveries.
        deliveries.removeAll(keepingCapacity: true)
        if self.deliveries.isEmpty { swap(&deliveries, &self.deliveries) }
    }

    private func unstored(_ outcome: Delivery.Outcome) {
        switch outcome {
        case .stored: break
        case .notStored(let code), .unknown(let code):
            context.log.warning(
                "a record was not acknowledged; the client gets 503 and retries", .field("code", code.name))
        }
    }

    private func finish(_ done: (Request, isStored: Bool)?) {
        if let (request, isStored) = done { settled(request, isStored) }
    }

    func loopEnds() {
        timer?.cancel()
        timer = nil
        loop.deregister(producer.descriptor)
    }
}
