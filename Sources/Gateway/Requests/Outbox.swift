internal import Kafka
internal import Lifecycle
internal import Telemetry

/// One producer for the records of many requests: a request hears when all of its records are on all in-sync replicas,
/// or that it is not known whether they are. Confined to its loop.
final class Outbox<Request>: EventHandler {
    private static var tickMilliseconds: Int { 1000 }

    private let loop: EventLoop
    private let context: ServiceContext
    private let connect: () throws -> Producer
    private let names: [String]
    private let seen: () -> Void
    private let clock: GatewayClock
    /// What becomes of a request.
    var settled: (Request, _ isStored: Bool) -> Void = { _, _ in }
    /// Every second, with those that wait.
    var watched: ([Request]) -> Void = { _ in }
    private var timer: LoopTimer?
    private(set) var producer: Producer
    private var topics: [Topic]
    private var waiting = WaitingRequests<Request>()
    private var deliveries: [Delivery] = []

    /// - Parameters:
    ///   - topics: with their prefix; records name one by its place.
    ///   - seen: told whenever Kafka has acknowledged something.
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

    /// Its callbacks are set before.
    func start() throws {
        try register()
        timer = LoopTimer(on: loop) { [unowned self] in tick() }
        tick()
    }

    /// Waits for what is on its way. What has not come back by then was answered 503 by the server, which has stopped.
    func flush(by deadline: Instant) {
        let left = max(0, deadline.milliseconds(since: .now()))
        _ = producer.flush(withinMilliseconds: left, into: &deliveries)
        settle()
    }

    private func register() throws { try loop.register(producer.descriptor, for: .readable, self) }

    /// Sends all of a request's records; its end comes by `settled`.
    ///
    /// - Parameters:
    ///   - count: at least one.
    ///   - lend: calls its argument with the topic, the key and the value of the record of this number.
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
                    "kafka takes no records of the gateway", .field("code", code.name),
                    .field("remedy", code.remedy))
            case .rebuild(let code): return rebuild(code)
            }
            // Those that are in the queue come back by themselves; the rest was never sent.
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

    /// What waits is perhaps stored and perhaps not: its senders try again, and those who are connected
    /// need not hear of it.
    private func rebuild(_ code: ErrorCode) {
        context.log.warning("the producer is at its end and made anew", .field("code", code.name))
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
        // Of one batch the last is the youngest, of each partition; one is enough.
        if let stamp = deliveries.compactMap(\.stamp).max() { clock.saw(stamp) }
        for delivery in deliveries {
            if !delivery.isStored { unstored(delivery.outcome) }
            finish(waiting.settle(delivery.tag, isStored: delivery.isStored))
        }
        // The memory is used again, unless something was sent meanwhile.
        deliveries.removeAll(keepingCapacity: true)
        if self.deliveries.isEmpty { swap(&deliveries, &self.deliveries) }
    }

    private func unstored(_ outcome: Delivery.Outcome) {
        switch outcome {
        case .stored: break
        case .notStored(let code), .unknown(let code):
            context.log.warning(
                "a record was not acknowledged; who sent it is told to try again", .field("code", code.name))
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
