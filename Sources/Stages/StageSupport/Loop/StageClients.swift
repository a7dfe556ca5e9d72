package import Kafka
internal import Lifecycle
internal import RecordFormat
package import Telemetry
package import Topics

/// The Kafka clients of a stage's loop, its views and its clock, for the loop and its decider. Pinned to the loop's
/// thread.
package final class StageClients<Decider: StageDecider> {
    package let configuration: LoopConfiguration
    let state: LoopState
    package let layout: TopicLayout
    package let log: Log
    package let time: StageTime
    package let metrics: StageMetrics
    let onStep: (Decider.Step) -> Void

    package let consumer: Consumer
    package let member: GroupMember<Decider.Part>
    package let views: TopicViews
    package let writer: NonTransactionalWriter
    package let transaction: TransactionRunner
    package var clock: ClusterClock
    /// The limit of the records that one transaction takes.
    package internal(set) var sizeLimit: TransactionSizeLimit
    /// The records that fail alone.
    var loneFailures: LoneRecordFailures
    /// The partition whose work the last transaction took, if it was limited to one.
    private var lastLimitedPartition: Int32 = -1
    /// The end of the time in which each transaction takes the work of one partition.
    private var limitedUntil = Instant(nanoseconds: 0)
    /// The length of that time. It is enough for a turn of all partitions.
    private static var limitedMilliseconds: Int { 5000 }

    /// Takes clients that exist. A simulation makes its own.
    package init(
        _ configuration: LoopConfiguration, layout: TopicLayout, _ context: StageContext<Decider.Step>,
        metrics: StageMetrics,
        clock: ClusterClock, consumer: Consumer, views: TopicViews, writer: NonTransactionalWriter,
        transaction: TransactionRunner
    ) {
        self.configuration = configuration
        self.layout = layout
        self.metrics = metrics
        (state, log, time, onStep) = (context.state, context.log, context.time, context.onStep)
        self.clock = clock
        self.consumer = consumer
        self.views = views
        self.writer = writer
        self.transaction = transaction
        sizeLimit = TransactionSizeLimit(recordsMax: configuration.batchRecordsMax)
        loneFailures = LoneRecordFailures(triesMax: configuration.loneRecordTriesMax)
        member = GroupMember(
            consumer: consumer, layout: layout, topics: configuration.topics,
            followedTopics: configuration.followedTopics,
            transaction: transaction,
            log: context.log, time: context.time, startedOver: metrics.startedOver,
            restoreSeconds: metrics.restoreSeconds)
    }

    /// Makes the clients.
    ///
    /// - Parameters:
    ///   - settleMilliseconds: the time for which the clocks are watched before an irreversible act.
    ///   - confirmationMilliseconds: the time for which a step of a clock has to last until it is believed.
    package convenience init(
        configuration: LoopConfiguration, in environment: StageEnvironment,
        context: StageContext<Decider.Step>,
        metrics: StageMetrics, settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        confirmationMilliseconds: Int = ClusterClock.settleMilliseconds
    ) throws {
        let (layout, log, processMetrics) = (environment.layout, context.log, context.metrics)
        let kafka = environment.cluster.settings
        let identity = environment.identity(of: configuration.stage, loop: configuration.loopNumber)
        var options = ConsumerOptions(
            membership: .group(
                layout.prefix + configuration.group, instanceID: identity,
                topics: configuration.topics.map(layout.name)))
        options.sessionMilliseconds = configuration.sessionMilliseconds
        configuration.prefetchKibibytesMax.map { options.prefetchKibibytesMax = $0 }
        configuration.partitionKibibytesMax.map { options.partitionKibibytesMax = $0 }
        configuration.fetchKibibytesMax.map { options.fetchKibibytesMax = $0 }
        let transaction = TransactionRunner(topics: configuration.outputTopics.map(layout.name), log: log) {
            id in
            try TransactionalProducer(
                settings: kafka, options: configuration.producerOptions,
                transactionalID: id == 0 ? identity : "\(identity).spare-\(id)",
                name: "\(configuration.group)-transactions",
                log: log, metrics: processMetrics)
        }
        // An open transaction of an earlier run is ended while the other clients are made.
        _ = try transaction.prepare(withinMilliseconds: 1)
        self.init(
            configuration, layout: layout, context, metrics: metrics,
            clock: ClusterClock(
                now: context.time.now(), settleMilliseconds: settleMilliseconds,
                confirmationMilliseconds: confirmationMilliseconds),
            consumer: try Consumer(
                settings: kafka, options: options, name: "\(configuration.group)-\(configuration.inputName)",
                log: log,
                metrics: processMetrics
            ),
            views: try TopicViews(
                definition: configuration.view,
                directory: environment.stateDirectory(of: configuration.stage),
                limits: configuration.viewLimits,
                kafka: kafka, name: "\(configuration.group)-\(configuration.view.table)", log: log,
                metrics: processMetrics,
                viewMetrics: metrics.views, time: context.time),
            writer: NonTransactionalWriter(
                kafka: kafka, layout: layout, name: "\(configuration.group)-plain", log: log,
                metrics: processMetrics),
            transaction: transaction)
        if let problem = try transaction.prepare(withinMilliseconds: TransactionRunner.startMillisecondsMax) {
            throw StageFailure.client(problem)
        }
    }

    /// Reports to a test that the loop has reached a step.
    package func reportStep(_ step: Decider.Step) { onStep(step) }

    /// Whether records may be decided now: nothing has to be read again, and the views can be written.
    package var canDecide: Bool { !member.mustStartOver && views.diskFull == nil }

    package func topicPartition(of topic: TopicName, number partition: Int32) -> TopicPartition {
        TopicPartition(layout.name(of: topic), partition)
    }

    /// Sends an unchanged record to the dead letters.
    ///
    /// - Parameters:
    ///   - rejection: the reason.
    ///   - sealedValue: replaces the value if the value must not be stored in plain text.
    ///   - time: milliseconds since 1970.
    package func sendToDeadLetters(
        recordAt index: Int, of batch: borrowing RecordBatch, as rejection: RejectedRecord,
        sealedValue: [UInt8]? = nil,
        at time: Int64
    ) {
        let record = batch[index]
        metrics.deadLetters(withCode: rejection.code).add()
        let deadLetter = DeadLetter(
            stage: configuration.stage, code: rejection.code, reason: rejection.reason,
            topic: layout.name(of: configuration.topics[record.topic]), partition: record.partition,
            offset: record.offset, writtenAt: record.timestamp ?? 0, rejectedAt: time)
        writer.sendToDeadLetters(record, sealedValue: sealedValue, as: deadLetter)
    }

    // MARK: Transactions

    /// Runs one transaction. The group's metadata is captured before its first record. A later capture could belong to
    /// a newer membership, and then old work would be committed under it.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the assignment under which the records were read.
    ///   - meanwhile: does a piece of other work while the cluster stores the records. Returns false if none is left.
    ///   - send: queues the records. Returns false if the producer refused one.
    /// - Returns: false if the transaction is not committed. Then the loop starts over.
    package func commit(
        _ offsets: [OffsetToCommit], readIn epoch: Int, meanwhile: () throws -> Bool = { false },
        send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Bool {
        guard let group = consumer.captureGroupMetadata(forEpoch: epoch) else {
            member.startOverLater(logging: "the partitions were reassigned", reason: "")
            return false
        }
        func onTransactionStep(_ step: TransactionRunner.TransactionStep) {
            onStep(step == .begun ? .transactionBegun : .offsetsSent)
        }
        let outcome = try transaction.run(
            committing: offsets, for: group, onStep: onTransactionStep, meanwhile: meanwhile, send: send)
        switch outcome {
        case .committed:
            onStep(.committed)
            return true
        case .startOver: break
        case .unavailable(let written):
            let partitions = Set(offsets.map(\.partition.partition))
            // If the transaction has the work of several partitions, the next ones try them one by one.
            limitedUntil = time.now().advanced(byMilliseconds: Self.limitedMilliseconds)
            if partitions.count == 1, let partition = partitions.first {
                member.setAside(partition, until: written)
            }
        }
        member.startOverLater()
        return false
    }

    /// Whether a transaction takes the work of only one partition, because a transaction has just failed at a partition
    /// that takes no records. Its next failure then tells which work has to wait.
    package var isLimitedToOnePartition: Bool {
        !transaction.unavailablePartitions.isEmpty && time.now() < limitedUntil
    }

    /// Returns the partitions whose work the next transaction takes: usually all, else one after another.
    ///
    /// - Parameter partitions: those with work, in ascending order.
    package func partitionsOfNextTransaction(from partitions: [Int32]) -> [Int32] {
        guard isLimitedToOnePartition, partitions.count > 1 else { return partitions }
        let next = partitions.first { $0 > lastLimitedPartition } ?? partitions[0]
        lastLimitedPartition = next
        return [next]
    }

    /// Runs a transaction that takes no records. It commits the unchanged offsets of its partitions, which proves that
    /// this process still owns them.
    package func commitWithoutRecords(
        of partitions: some Sequence<Int32>, send: (TransactionalProducer, [Topic]) -> Bool
    ) throws -> Bool {
        var offsets: [OffsetToCommit] = []
        for part in partitions.compactMap({ member.assignedPartitions[$0] }) {
            for topic in configuration.topics.indices {
                guard let offset = part.committedOffset(in: topic) else { continue }
                offsets.append(
                    OffsetToCommit(
                        partition: topicPartition(of: configuration.topics[topic], number: part.partition),
                        offset: offset))
            }
        }
        return try commit(offsets, readIn: consumer.epoch, send: send)
    }
}

/// The values that a loop receives at its start.
package struct StageContext<Step: StageStep> {
    package let state: LoopState
    package let log: Log
    package let metrics: Metrics
    package let time: StageTime
    package let onStep: (Step) -> Void

    package init(
        state: LoopState, log: Log, metrics: Metrics, time: StageTime = StageTime(),
        onStep: @escaping (Step) -> Void
    ) {
        self.state = state
        self.log = log
        self.metrics = metrics
        self.time = time
        self.onStep = onStep
    }
}
