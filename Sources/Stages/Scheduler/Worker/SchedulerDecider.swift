internal import JSON
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Store
internal import Telemetry
internal import Topics

/// The decisions of the scheduler. Commands change timers: `+Commands` commits the timers of a batch of commands in one
/// transaction with the offsets. Time fires timers: `+Firing` commits the sends of due timers in one transaction with
/// their tombstones.
///
/// A transaction that fires timers also commits the unchanged offsets, to prove that the partition is still assigned to
/// this process. `+UpcomingTimers`, `+TimeProbe` and `+CommandEnds` supply the facts that firing needs.
final class SchedulerDecider: RecordDecider {
    typealias Step = SchedulerStep
    typealias Part = SchedulesPartition

    /// The version of the layout of the views' files. Files with another version are rebuilt.
    static let viewSchema = 1
    /// The size of the commands that are prefetched. In memory, small records take several times as much.
    static let prefetchKibibytesMax = 8192

    let settings: SchedulerSettings
    let metrics: SchedulerMetrics
    let stage: StageClients<SchedulerDecider>
    let timerCommands = TimerCommands()
    let reader = JSONReader()
    let partitioner: KeyPartitioner

    // The current transaction.

    var output: SchedulerOutput
    /// The rows that it reads and changes, by partition.
    var timersByPartition: [Int32: TransactionTimers] = [:]
    /// The numbers of its commands, by outcome. The outcomes are labels of a metric.
    var outcomeCounts: [String: Int] = [:]

    // Firing.

    var firingBudget: FiringBudget
    /// The partitions of commands whose ends are asked for.
    var awaitedEnds = AwaitedWatermarks()
    /// The time at which the newest batch with stamps of the cluster was read. When timers are due, its stamp must be
    /// young, because the steady clock may run faster than the cluster's.
    var lastStampedAt: Instant?
    /// The time from which another time probe may be written.
    var nextTimeProbe = Instant(nanoseconds: 0)

    init(settings: SchedulerSettings, in environment: StageEnvironment, context: StageContext<Step>)
        throws
    {
        self.settings = settings
        metrics = SchedulerMetrics(context.metrics)
        let layout = environment.layout
        partitioner = KeyPartitioner(partitionCount: layout.lanes)
        output = SchedulerOutput(
            partitioner: partitioner, replyPartitionCount: layout.partitionCount(of: .replies))
        firingBudget = FiringBudget(perSecond: settings.firesPerSecond)
        stage = try StageClients(
            configuration: Self.loopConfiguration(for: settings, layout: layout), in: environment,
            context: context, metrics: metrics.stage, confirmationMilliseconds: settings.holdMilliseconds)
    }

    private static func loopConfiguration(
        for settings: SchedulerSettings, layout: TopicLayout
    ) -> LoopConfiguration {
        var view = TopicViewDefinition(topic: layout.name(of: .timers), table: "timers", schema: viewSchema)
        view.derive = writeDueRow
        var configuration = LoopConfiguration(
            stage: SchedulerService.name, group: "scheduler", inputName: "commands",
            subscription: SchedulerInputTopic.subscription,
            outputTopics: SchedulerOutput.OutputTopic.allCases.map(\.topic), view: view)
        configuration.batchRecordsMax = settings.batchCommandsMax
        configuration.batchBytesMax = settings.batchBytesMax
        configuration.overlayRowsMax = settings.overlayRowsMax
        configuration.overlayBytesMax = settings.overlayBytesMax
        configuration.viewLimits = settings.viewLimits
        configuration.sessionMilliseconds = settings.sessionMilliseconds
        configuration.prefetchKibibytesMax = prefetchKibibytesMax
        return configuration
    }

    /// Writes the second row that the view stores for each row: its entry in due order, which has no value. Returns
    /// false for a row without a due time.
    @Sendable
    private static func writeDueRow(
        forKey key: Span<UInt8>, value row: Span<UInt8>, to derivedRow: inout DerivedRow
    ) -> Bool {
        guard let entry = DueEntry(rowKey: key, row: row) else { return false }
        derivedRow.key = entry.storedKey
        return true
    }

    // MARK: Readiness

    /// Whether a clock has jumped and the new time is not confirmed. Then timers fire by the lower time.
    var isClockDoubtful: Bool { stage.clock.isDoubtful }

    var readinessProblems: [String] {
        isClockDoubtful
            ? ["a clock has jumped; timers fire by the lower time until the new time is confirmed"] : []
    }

    func machineClockStepped() {
        metrics.clockJumps.add()
        stage.log.warning(
            "this machine's clock has jumped; timers fire by the lower time for a while",
            .field("milliseconds", settings.holdMilliseconds))
    }

    // MARK: Membership

    var servingPartitions: [SchedulesPartition] {
        stage.member.assignedPartitions.values.filter(\.isServing)
    }

    func partitionsAssigned(_ numbers: [Int32]) {}

    func partitionsRevoked() { awaitedEnds.removeAll() }

    func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) {
        // The commands are read again, so an answer to an earlier question proves nothing about them.
        awaitedEnds.removeAll()
        for partition in numbers { stage.member.assignedPartitions[partition]?.resetTimers() }
    }

    // MARK: Upkeep

    func performUpkeep(at now: Instant) throws {
        metrics.clockDoubtful.set(isClockDoubtful ? 1 : 0)
        dropWrittenTimers()
        try countTimers()
    }

    /// Drops entries and keys from memory that are now in the view. The overlay still has the others.
    private func dropWrittenTimers() {
        for (partition, part) in stage.member.assignedPartitions
        where part.upcomingTimers.unwrittenCount > 0 || !part.unreadTimers.isEmpty {
            let overlay = stage.views.overlays[partition]
            stage.member.assignedPartitions[partition]?.upcomingTimers.retainUnwritten { overlay?[$0] != nil }
            stage.member.assignedPartitions[partition]?.unreadTimers.retain { overlay?[$0] != nil }
        }
    }

    /// Sets the number of waiting timers and idempotency keys in the metrics.
    private func countTimers() throws {
        var rows = 0
        for partition in stage.member.assignedPartitions.keys.sorted() {
            do throws(StoreError) {
                rows += try stage.views[partition]?.count() ?? 0
            } catch {
                return try stage.views.rebuild(partition, after: error)
            }
        }
        // Each row has a second row, its entry in due order.
        metrics.waitingTimers.set(Double(rows / 2))
    }
}
