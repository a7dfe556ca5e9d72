package import Kafka
package import Lifecycle

/// The decisions of a stage, as its `StageLoop` asks for them. Pinned to the loop's thread.
///
/// The loop reads, keeps the membership and the views, and starts over. The decider decides about the records and
/// about the work that is due without records.
package protocol StageDecider: AnyObject, SendableMetatype {
    associatedtype Part: AssignedPartition
    associatedtype Step: StageStep

    var stage: StageClients<Self> { get }

    // MARK: Readiness

    /// Whether the decider has everything that the records need, apart from views: the catalog, for example.
    var isReady: Bool { get }
    /// The reasons why it does not work now, for `/readyz`.
    var readinessProblems: [String] { get }
    /// The reason why the decider's own files cannot be written.
    var diskFull: DiskFullState? { get }
    /// Whether it has no room for what records lead to. Then the loop takes no records for a while.
    var isFull: Bool { get }

    /// Whether the decider itself measures the number and the age of waiting records, because they wait in its queues.
    static var measuresWaitingRecords: Bool { get }

    // MARK: Membership

    func partitionsAssigned(_ numbers: [Int32])
    /// All partitions were revoked or lost.
    func partitionsRevoked()
    /// Opens the decider's own files, one in each turn. Returns whether all are open.
    func openNextFile(of numbers: [Int32]) throws -> Bool
    /// The records of the partitions are read again.
    ///
    /// - Parameter offsets: the group's own offsets in the `followedTopics`.
    func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) throws
    /// The records of the partition flow from now on.
    func partitionStartedServing(_ partition: Int32)
    /// The newest committed offsets of the `followedTopics`.
    var followedOffsets: [OffsetToCommit] { get }
    /// The view of the partition has read everything that was written. Serves the partition if nothing else is missing.
    func viewCompleted(of partition: Int32)

    // MARK: Work

    /// The machine's clock has jumped.
    func machineClockStepped()
    /// Reads the decider's own clients, before records are read.
    func pollOwnClients() throws
    /// Looks at an event of the loop's consumer, such as the answer to a question that the decider asked.
    func handle(_ event: ConsumerEvent)
    /// Takes all or some of the records in hand, with at most one transaction. The loop calls it until none is left.
    func process(_ batch: inout PendingBatch) throws
    /// The time for which more records gather before the next batch is read.
    func gatheringMilliseconds(after batch: borrowing PendingBatch, tookMilliseconds: Int) -> Int
    /// Does the work that is due without records. Returns the time of the next, or nil if none is known.
    func performDueWork(at now: Instant) throws -> Wakeup?
    /// Does the regular work, once a second.
    func performUpkeep(at now: Instant) throws
    /// Descriptors that are readable while the decider's own clients have records.
    var ownClientDescriptors: [Int32] { get }
    /// Closes the decider's own clients and files. No record is decided after this.
    func close()
}

extension StageDecider {
    package var isReady: Bool { true }
    package var readinessProblems: [String] { [] }
    package var diskFull: DiskFullState? { nil }
    package var isFull: Bool { false }
    package static var measuresWaitingRecords: Bool { false }
    package func machineClockStepped() {}
    package func partitionsRevoked() {}
    package func openNextFile(of numbers: [Int32]) -> Bool { true }
    package func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) {}
    package func partitionStartedServing(_ partition: Int32) {}
    package var followedOffsets: [OffsetToCommit] { [] }
    package func pollOwnClients() {}
    package func handle(_ event: ConsumerEvent) {}
    package func gatheringMilliseconds(after hand: borrowing PendingBatch, tookMilliseconds: Int) -> Int { 0 }
    package var ownClientDescriptors: [Int32] { [] }
    package func close() {}
}
