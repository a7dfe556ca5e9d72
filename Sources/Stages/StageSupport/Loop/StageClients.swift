package import Kafka
internal import RecordFormat
package import Telemetry
package import Topics

/// The Kafka clients of a stage's loop, its views and its clock, for the loop and its decider. Pinned to the loop's
/// thread.
package final class StageClients<Decider: StageDecider> {
    package let configuration: LoopConfiguration
    /// The request to stop, and the readiness problems.
    let state: LoopState
    package let layout: TopicLayout
    package let log: Log
    package let time: StageTime
    package let metrics: StageMetrics
    let onStep: (Decider.Step) -> Void

    /// Reads the records of the group.
    package let consumer: Consumer
    package let member: GroupMember<Decider.Part>
    package let views: TopicViews
    package let writer: NonTransactionalWriter
    package let transaction: TransactionRunner
    package var clock: ClusterClock

    // The limits of the next transaction, after failures.

    /// The limit of the records that one transaction takes.
    package internal(set) var sizeLimit: TransactionSizeLimit
    /// The records whose transactions fail although they take no other record.
    var loneFailures: LoneRecordFailures
    var sentDeadLetters = SentDeadLetters()
    var onePartitionLimit = OnePartitionLimit()

    /// Takes clients that exist already. A simulation makes them.
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

    /// Makes the clients. Waits for the transactional producer, because the first transaction needs it.
    ///
    /// - Parameters:
    ///   - settleMilliseconds: the time for which the clocks are watched before an irreversible act.
    ///   - confirmationMilliseconds: the time for which a step of a clock has to last until it is believed.
    package convenience init(
        configuration: LoopConfiguration, in environment: StageEnvironment,
        context: StageContext<Decider.Step>,
        metrics: StageMetrics, settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        confirmationMilliseconds: Int = ClusterClock.confirmationMilliseconds
    ) throws {
        let (layout, log, processMetrics) = (environment.layout, context.log, context.metrics)
        let kafka = environment.cluster.settings
        let identity = environment.identity(of: configuration.stage, loop: configuration.loopNumber)
        let transaction = StageClients.makeTransactionRunner(
            for: configuration, in: environment, identity: identity, log: log, metrics: processMetrics)
        // This begins to end an open transaction of an earlier run. It goes on while the other clients are made.
        _ = try transaction.prepare(withinMilliseconds: 1)
        self.init(
            configuration, layout: layout, context, metrics: metrics,
            clock: ClusterClock(
                now: context.time.now(), settleMilliseconds: settleMilliseconds,
                confirmationMilliseconds: confirmationMilliseconds),
            consumer: try Consumer(
                settings: kafka,
                options: StageClients.consumerOptions(for: configuration, in: environment),
                name: "\(configuration.group)-\(configuration.inputName)", log: log,
                metrics: processMetrics),
            views: try TopicViews(
                definition: configuration.view,
                directory: environment.stateDirectory(of: configuration.stage),
                limits: configuration.viewLimits,
                in: environment.cluster, log: log, metrics: processMetrics, viewMetrics: metrics.views,
                time: context.time),
            writer: NonTransactionalWriter(
                kafka: kafka, layout: layout, name: "\(configuration.group)-plain", log: log,
                metrics: processMetrics),
            transaction: transaction)
        if let problem = try transaction.prepare(withinMilliseconds: TransactionRunner.startMillisecondsMax) {
            throw StageFailure.client(problem)
        }
    }

    private static func consumerOptions(
        for configuration: LoopConfiguration, in environment: StageEnvironment
    ) -> ConsumerOptions {
        var options = ConsumerOptions(
            membership: environment.membership(
                of: configuration.stage, loop: configuration.loopNumber, in: configuration.group,
                reading: configuration.subscription))
        options.sessionMilliseconds = configuration.sessionMilliseconds
        configuration.prefetchKibibytesMax.map { options.prefetchKibibytesMax = $0 }
        configuration.partitionKibibytesMax.map { options.partitionKibibytesMax = $0 }
        configuration.fetchKibibytesMax.map { options.fetchKibibytesMax = $0 }
        return options
    }

    private static func makeTransactionRunner(
        for configuration: LoopConfiguration, in environment: StageEnvironment, identity: String, log: Log,
        metrics: Metrics
    ) -> TransactionRunner {
        let (layout, kafka) = (environment.layout, environment.cluster.settings)
        return TransactionRunner(topics: configuration.outputTopics.map(layout.name), log: log) { idNumber in
            try TransactionalProducer(
                settings: kafka, options: configuration.producerOptions,
                transactionalID: idNumber == 0 ? identity : "\(identity).spare-\(idNumber)",
                name: "\(configuration.group)-transactions", log: log, metrics: metrics)
        }
    }

    /// Reports to a test that the loop has reached a step.
    package func reportStep(_ step: Decider.Step) { onStep(step) }

    /// Whether records may be decided now: nothing has to be read again, and the views can be written.
    package var canDecide: Bool { !member.isStartingOver && views.diskFull == nil }

    package func topicPartition(of topic: TopicName, number partition: Int32) -> TopicPartition {
        TopicPartition(layout.name(of: topic), partition)
    }

    /// Sends an unchanged record to the dead letters, unless that was done when the record was read before.
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
        let partition = topicPartition(of: configuration.topics[record.topic], number: record.partition)
        let mustSend = sentDeadLetters.noteRejection(ofRecordAt: record.offset, of: partition)
        guard mustSend else { return }
        metrics.deadLetters(withCode: rejection.code).add()
        let deadLetter = DeadLetter(
            stage: configuration.stage, code: rejection.code, reason: rejection.reason,
            topic: partition.topic, partition: record.partition,
            offset: record.offset, writtenAt: record.timestamp ?? 0, rejectedAt: time)
        writer.sendToDeadLetters(record, sealedValue: sealedValue, as: deadLetter)
    }

    /// Waits until all records that were sent outside of transactions are stored. Returns the problem if some are not
    /// known to be. Then the batch must not be committed.
    package func waitForDeadLetters() -> String? {
        let problem = writer.waitForAcknowledgements()
        switch problem {
        case nil: sentDeadLetters.markAllStored()
        case .late: break
        case .failed: sentDeadLetters.forgetUnacknowledged()
        }
        return problem?.description
    }
}
