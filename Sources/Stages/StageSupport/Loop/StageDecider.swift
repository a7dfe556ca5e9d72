package import Kafka
package import Lifecycle

/// The decisions of a loop, which each stage makes in its own way. The `StageLoop` calls all functions, on its thread.
///
/// The loop reads records, is a member of the group, keeps the views, and starts over. The decider decides about the
/// records, and about the work that is due without records.
package protocol StageDecider: AnyObject, SendableMetatype {
    associatedtype Part: AssignedPartition
    associatedtype Step: StageStep

    var stage: StageClients<Self> { get }

    // MARK: Readiness

    /// Whether the decider has everything that the records need apart from views, such as the catalog.
    var isReady: Bool { get }
    /// The reasons why records are not decided now, one line each, for `/readyz`.
    var readinessProblems: [String] { get }
    /// The state of a disk that is too full for the decider's own files. Nil if they can be written.
    var diskFull: DiskFullState? { get }
    /// Whether the decider's queues have no space for the results of more records. Then the loop takes none for a
    /// while.
    var isFull: Bool { get }

    /// Whether the decider itself measures the number and the age of waiting records, because they wait in its queues.
    /// Else the loop does.
    static var measuresWaitingRecords: Bool { get }

    // MARK: Membership

    /// These partitions are assigned, and no others.
    func partitionsAssigned(_ numbers: [Int32])
    /// All partitions were revoked or lost.
    func partitionsRevoked()
    /// Opens the next of the decider's own files, at most one. Returns whether all are open.
    func openNextFile(of numbers: [Int32]) throws -> Bool
    /// The records of the partitions are read again from the committed offsets, so state in memory must be dropped.
    ///
    /// - Parameter offsets: the group's own offsets in the `followedTopics`.
    func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) throws
    /// The records of the partition are served from now on.
    func partitionStartedServing(_ partition: Int32)
    /// The newest committed offsets of the `followedTopics`.
    var followedOffsets: [OffsetToCommit] { get }
    /// The view of the partition has read everything that was written. The decider starts to serve the partition if
    /// nothing else is missing.
    func viewCompleted(of partition: Int32)

    // MARK: Work

    /// The machine's clock has stepped.
    func machineClockStepped()
    /// Reads the decider's own clients, before records are read.
    func pollOwnClients() throws
    /// Handles an event of the loop's consumer, such as the answer to a query of the decider.
    func handle(_ event: ConsumerEvent)
    /// Takes all or some of the batch's records, with at most one transaction. The loop calls it until none is left,
    /// once in each iteration.
    func process(_ batch: inout PendingBatch) throws
    /// Returns the time for which more records gather before the next batch is read.
    ///
    /// - Parameter tookMilliseconds: the time since the batch was read.
    func gatheringMilliseconds(after batch: borrowing PendingBatch, tookMilliseconds: Int) -> Int
    /// Does the work that is due without records. Returns the time of the next such work, or nil if none is known.
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
    package func gatheringMilliseconds(after batch: borrowing PendingBatch, tookMilliseconds: Int) -> Int {
        0
    }
    package var ownClientDescriptors: [Int32] { [] }
    package func close() {}
}
