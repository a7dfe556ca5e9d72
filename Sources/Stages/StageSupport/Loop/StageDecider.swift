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
    var problems: [String] { get }
    /// The reason why the decider's own files cannot be written.
    var blockage: DiskFullState? { get }
    /// Whether it has no room for what records lead to. Then the loop takes no records for a while.
    var isFull: Bool { get }

    /// Whether the decider itself measures the number and the age of waiting records, because they wait in its queues.
    static var measuresWaiting: Bool { get }

    // MARK: Membership

    func assigned(_ numbers: [Int32])
    /// All partitions were revoked or lost.
    func letGo()
    /// Opens the decider's own files, one in each turn. Returns whether all are open.
    func openNext(of numbers: [Int32]) throws -> Bool
    /// The records of the partitions are read again.
    ///
    /// - Parameter offsets: the group's own offsets in the topics that are `followed`.
    func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) throws
    /// The records of the partition flow from now on.
    func flows(_ partition: Int32)
    /// The newest committed offsets of the topics that are `followed`.
    var followedOffsets: [OffsetToCommit] { get }
    /// The view of the partition has read everything that was written. Serves the partition if nothing else is missing.
    func viewIsComplete(_ partition: Int32)

    // MARK: Work

    /// The machine's clock has jumped.
    func machineClockStepped()
    /// Reads the decider's own clients, before records are read.
    func readOthers() throws
    /// Looks at an event of the loop's consumer, such as the answer to a question that the decider asked.
    func hear(_ event: ConsumerEvent)
    /// Takes all or some of the records in hand, with at most one transaction. The loop calls it until none is left.
    func take(_ hand: inout BatchInHand) throws
    /// The time for which more records gather before the next batch is read.
    func gatheringMilliseconds(after hand: borrowing BatchInHand, tookMilliseconds: Int) -> Int
    /// Does the work that is due without records. Returns the time of the next, or nil if none is known.
    func work(at now: Instant) throws -> Wake?
    /// Does the regular work, once a second.
    func upkeep(at now: Instant) throws
    /// Descriptors that are readable while the decider's own clients have records.
    var descriptors: [Int32] { get }
    /// Closes the decider's own clients and files. No record is decided after this.
    func finish()
}

extension StageDecider {
    package var isReady: Bool { true }
    package var problems: [String] { [] }
    package var blockage: DiskFullState? { nil }
    package var isFull: Bool { false }
    package static var measuresWaiting: Bool { false }
    package func machineClockStepped() {}
    package func letGo() {}
    package func openNext(of numbers: [Int32]) -> Bool { true }
    package func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) {}
    package func flows(_ partition: Int32) {}
    package var followedOffsets: [OffsetToCommit] { [] }
    package func readOthers() {}
    package func hear(_ event: ConsumerEvent) {}
    package func gatheringMilliseconds(after hand: borrowing BatchInHand, tookMilliseconds: Int) -> Int { 0 }
    package var descriptors: [Int32] { [] }
    package func finish() {}
}
