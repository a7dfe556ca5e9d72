internal import Kafka
internal import Lifecycle
internal import Telemetry

/// One Kafka producer for the records of many requests. A request is settled when all in-sync replicas have all
/// of its records, or when one of them was not stored or may not be. If Kafka is lost, all waiting requests are settled
/// at once. Confined to its loop.
final class SharedProducer<Request>: EventHandler {
    /// Queues one record. Without a partition its key decides the partition.
    typealias QueueRecord = (
        _ topic: Int, _ partition: Int32?, _ key: Span<UInt8>, _ value: Span<UInt8>?
    ) -> SendResult

    private static var tickMilliseconds: Int { 1000 }

    private let loop: EventLoop
    private let context: ServiceContext
    private let makeProducer: () throws -> Producer
    private let topicNames: [String]
    private let kafkaHealth: KafkaHealth
    private let clock: GatewayClock
    /// Receives each request once, when it is settled.
    var onSettled: (Request, _ isStored: Bool) -> Void = { _, _ in }
    /// Receives the requests that are not settled, once a second.
    var onTick: ([Request]) -> Void = { _ in }
    private var timer: LoopTimer?
    private(set) var producer: Producer
    private var topics: [Topic]
    private var pending = PendingRequests<Request>()
    private var deliveries: [Delivery] = []

    /// - Parameter topicNames: The names of the topics with their prefix. A record names its topic by the index in this
    ///   list.
    init(
        settings: KafkaSettings, topicNames: [String], limits: GatewayLimits, on loop: EventLoop,
        context: ServiceContext, clock: GatewayClock, kafkaHealth: KafkaHealth
    ) throws {
        var options = ProducerOptions()
        options.lingerMilliseconds = limits.lingerMilliseconds
        options.deliveryMillisecondsMax = limits.acknowledgeMilliseconds
        let makeProducer = { [options] in
            try Producer(
                settings: settings, options: options, name: loop.name, log: context.log,
                metrics: context.metrics)
        }
        self.makeProducer = makeProducer
        self.topicNames = topicNames
        self.loop = loop
        self.context = context
        self.kafkaHealth = kafkaHealth
        self.clock = clock
        let producer = try makeProducer()
        self.producer = producer
        topics = try topicNames.map { try producer.topic(named: $0) }
    }

    /// Starts to collect acknowledgements. `onSettled` and `onTick` must be set before.
    func start() throws {
        try register()
        timer = LoopTimer(on: loop) { [unowned self] in tick() }
        tick()
    }

    /// Waits for the records in flight. The server has already stopped and answered 503 to all requests that
    /// still wait.
    func flush(by deadline: Instant) {
        let remaining = max(0, deadline.milliseconds(since: .now()))
        _ = producer.flush(withinMilliseconds: remaining, into: &deliveries)
        settleDeliveries()
    }

    private func register() throws { try loop.register(producer.descriptor, for: .readable, handler: self) }

    /// Sends all records of a request. `onSettled` reports the outcome.
    ///
    /// - Parameters:
    ///   - count: The number of records, at least one.
    ///   - sendRecord: Receives the index of a record, and passes the record to `queue`.
    func send(
        _ request: Request, records count: Int,
        sendRecord: (_ index: Int, _ queue: QueueRecord) -> SendResult
    ) {
        let tag = pending.add(request, records: count)
        for record in 0..<count {
            let result = sendRecord(record) { topic, partition, key, value in
                producer.send(to: topics[topic], partition: partition, key: key, value: value, tag: tag)
            }
            switch result {
            case .queued: continue
            case .full: break
            case .refused(let code):
                context.log.error(
                    "kafka refuses the gateway's records", .field("code", code.name),
                    .field("remedy", code.remedy))
            case .unusable(let code):
                // This settles all waiting requests, also the one that is being sent.
                return replaceFailedProducer(after: code)
            }
            // The queued records settle through their deliveries. The others were never sent.
            return reportSettled(pending.settle(tag: tag, records: count - record, isStored: false))
        }
    }

    private func tick() {
        timer?.schedule(at: loop.now.advanced(byMilliseconds: Self.tickMilliseconds))
        didBecomeReady(.readable)
        if let error = producer.fatalError { replaceFailedProducer(after: error.code) }
        abandonRequestsIfKafkaIsLost()
        onTick(Array(pending.requests))
    }

    func didBecomeReady(_ readiness: Readiness) {
        while producer.collectDeliveries(into: &deliveries) {}
        settleDeliveries()
        if producer.takeLossOfAllBrokers() { kafkaHealth.confirmLoss() }
    }

    /// Settles the requests that wait while no broker answers. Otherwise their clients would wait until the
    /// records time out. The producer is replaced, because the records of the next requests would wait behind the records
    /// that it holds.
    private func abandonRequestsIfKafkaIsLost() {
        guard kafkaHealth.isLost, pending.count > 0 else { return }
        context.log.warning(
            "no broker answers; the waiting requests get 503", .field("requests", pending.count))
        replaceProducer()
    }

    private func replaceFailedProducer(after code: KafkaErrorCode) {
        context.log.warning("the producer failed and was replaced", .field("code", code.name))
        replaceProducer()
    }

    /// Replaces the producer. It is unknown whether the waiting records are stored, so their clients must retry. Open
    /// connections stay open.
    private func replaceProducer() {
        let abandoned = pending.removeAll()
        loop.deregister(producer.descriptor)
        producer.abandon()
        do {
            producer = try makeProducer()
            topics = try topicNames.map { try producer.topic(named: $0) }
            try register()
        } catch {
            context.fail(with: error)
        }
        for request in abandoned { onSettled(request, false) }
    }

    private func settleDeliveries() {
        // `onSettled` may use this object, so the collected deliveries are moved out of it.
        var batch: [Delivery] = []
        swap(&batch, &deliveries)
        if batch.contains(where: \.isStored) { kafkaHealth.recordAnswer(at: .now()) }
        // One stamp is enough: the newest of the batch.
        if let stamp = batch.compactMap(\.brokerTimestamp).max() { clock.observe(stamp: stamp) }
        for delivery in batch {
            if !delivery.isStored { logUnstored(delivery.outcome) }
            reportSettled(pending.settle(tag: delivery.tag, isStored: delivery.isStored))
        }
        // The next batch reuses the memory of this one.
        batch.removeAll(keepingCapacity: true)
        if deliveries.isEmpty { swap(&batch, &deliveries) }
    }

    private func logUnstored(_ outcome: Delivery.DeliveryOutcome) {
        switch outcome {
        case .stored: break
        case .notStored(let code), .unknown(let code):
            context.log.warning(
                "a record was not acknowledged; the client gets 503 and retries", .field("code", code.name))
        }
    }

    private func reportSettled(_ settled: (Request, isStored: Bool)?) {
        if let (request, isStored) = settled { onSettled(request, isStored) }
    }

    func loopWillEnd() {
        timer?.cancel()
        timer = nil
        loop.deregister(producer.descriptor)
    }
}
