import Broker
import Lifecycle
import Telemetry

/// The coordinators of one share of the cluster's groups and transactions. They are those of the embedded broker. The
/// records that they have stored survive the node, their memory does not.
final class CoordinatorSlot {
    /// The number of the share, and of the node that has it unless it is away.
    let number: Int
    private(set) var groups: GroupCoordinator
    private(set) var transactions: TransactionCoordinator
    private var groupRecords: [[UInt8]: CoordinatorRecord] = [:]
    private var transactionRecords: [[UInt8]: CoordinatorRecord] = [:]
    private unowned let cluster: VirtualCluster
    private var tokenCount: UInt64 = 0
    private var groupReplies: [ReplyToken: (GroupResponse) -> Void] = [:]
    private var transactionReplies: [ReplyToken: (TransactionAnswer) -> Void] = [:]
    /// A number that grows when the coordinators lose their memory. Answers of an older one never arrive.
    private(set) var memoryNumber = 0
    private var mustRestore = false
    /// Whether the newest end of a transaction in this share's groups is stored, as the coordinator's action tells.
    private var isTransactionEndStored = false

    init(number: Int, at now: ClockReading, in cluster: VirtualCluster) {
        self.number = number
        self.cluster = cluster
        (groups, transactions) = Self.makeCoordinators(number: number, at: now, in: cluster)
    }

    private static func makeCoordinators(
        number: Int, at now: ClockReading, in cluster: VirtualCluster
    ) -> (GroupCoordinator, TransactionCoordinator) {
        let exists: (PartitionID) -> Bool = { [unowned cluster] in
            cluster.log(of: Partition(topic: $0.topic, number: $0.partition)) != nil
        }
        var seed = UInt64(number) << 32
        let groups = GroupCoordinator(
            at: now,
            random: {
                seed += 1
                return seed
            }, partitionExists: exists)
        let transactions = TransactionCoordinator(at: now, partitionExists: exists)
        // Producer ids differ between coordinators.
        transactions.producerIDs.restore(end: Int64(number + 1) << 40)
        return (groups, transactions)
    }

    /// Loses everything that is not stored. The node that takes over restores the rest.
    func loseMemory() {
        memoryNumber += 1
        groupReplies = [:]
        transactionReplies = [:]
        mustRestore = true
    }

    /// Whether a node coordinates this share now.
    var isAvailable: Bool { cluster.host(ofShare: number) != nil }

    private var now: ClockReading { cluster.clockReading(ofNode: cluster.host(ofShare: number) ?? number) }

    /// Restores the coordinators on the node that took over.
    private func restoreIfNeeded() {
        guard mustRestore else { return }
        mustRestore = false
        (groups, transactions) = Self.makeCoordinators(number: number, at: now, in: cluster)
        for (_, record) in groupRecords.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            _ = groups.restore(record)
        }
        for (_, record) in transactionRecords.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            _ = transactions.restore(record)
        }
        groups.finishRestoring(at: now)
        perform(transactions.finishRestoring(at: now))
    }

    // MARK: Requests

    /// Handles a request. The answer comes later, or never if the coordinator loses its memory before.
    func handle(_ request: GroupRequest, from client: String, reply: @escaping (GroupResponse) -> Void) {
        restoreIfNeeded()
        tokenCount += 1
        let token = ReplyToken(tokenCount)
        groupReplies[token] = reply
        perform(
            groups.handle(request, from: Caller(token: token, clientID: client, clientHost: "/sim"), at: now))
    }

    func handle(_ request: TransactionRequest, reply: @escaping (TransactionAnswer) -> Void) {
        restoreIfNeeded()
        tokenCount += 1
        let token = ReplyToken(tokenCount)
        transactionReplies[token] = reply
        perform(transactions.handle(request, from: Caller(token: token), at: now))
    }

    /// Handles the deadlines that have passed.
    func tick() {
        guard isAvailable else { return }
        restoreIfNeeded()
        if groups.nextDeadline <= now.steady { perform(groups.tick(at: now)) }
        if transactions.nextDeadline <= now.steady { perform(transactions.tick(at: now)) }
    }

    /// Returns the error if a transactional commit of offsets must be refused, else nil.
    func refusal(of producer: RequestingProducer, group: String) -> ErrorCode? {
        isAvailable ? transactions.refusal(of: producer, group: group) : .notCoordinator
    }

    // MARK: Actions

    private func perform(_ actions: [GroupAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let response):
                if let reply = groupReplies.removeValue(forKey: token) {
                    cluster.answers.append { reply(response) }
                }
            case .persist(let id, let records):
                for record in records { Self.store(record, in: &groupRecords) }
                perform(groups.appendSucceeded(id, at: now))
            case .transactionEnded(_, let isDurable): isTransactionEndStored = isDurable
            }
        }
    }

    private func perform(_ actions: [TransactionAction]) {
        for action in actions {
            switch action {
            case .reply(let token, let answer):
                if let reply = transactionReplies.removeValue(forKey: token) {
                    cluster.answers.append { reply(answer) }
                }
            case .persist(let id, let records):
                for record in records { Self.store(record, in: &transactionRecords) }
                perform(transactions.appendSucceeded(id, at: now))
            case .writeMarkers(let id, let markers): writeMarkers(markers, id: id)
            }
        }
    }

    private static func store(_ record: CoordinatorRecord, in table: inout [[UInt8]: CoordinatorRecord]) {
        table[record.key] = record.value == nil ? nil : record
    }

    /// Ends a transaction in this share's groups. Returns false if that has to be repeated.
    private func endTransaction(of decision: TransactionMarkers, in ids: [String], markers id: MarkersID)
        -> Bool
    {
        guard isAvailable else { return false }
        restoreIfNeeded()
        isTransactionEndStored = false
        perform(
            groups.endTransaction(
                markers: id, producerID: decision.producerID, commits: decision.commits, groups: ids, at: now)
        )
        return isTransactionEndStored
    }

    // MARK: Markers

    /// Writes the markers of a transaction to its partitions and groups. A partition that is not available now is tried
    /// again later.
    private func writeMarkers(_ decision: TransactionMarkers, id: MarkersID) {
        var remaining = RemainingMarkers()
        for partition in decision.partitions {
            let written = Partition(topic: partition.topic, number: partition.partition)
            guard let log = cluster.log(of: written) else { continue }
            guard let leader = cluster.leader(of: written) else {
                remaining.partitions.append(partition)
                continue
            }
            log.appendMarker(
                of: decision.producerID, epoch: decision.epoch, commits: decision.commits,
                timestamp: cluster.wallTime(ofNode: leader).milliseconds)
            cluster.onAppend(log)
        }
        for slot in cluster.slots {
            let groups = decision.groups.filter { cluster.slot(of: $0) === slot }
            if !groups.isEmpty, !slot.endTransaction(of: decision, in: groups, markers: id) {
                remaining.groups += groups
            }
        }
        perform(
            remaining.isEmpty
                ? transactions.markersWritten(id, at: now)
                : transactions.markersFailed(id, remaining: remaining, at: now))
    }
}

extension VirtualCluster {
    func clockReading(ofNode node: Int) -> ClockReading {
        ClockReading(steady: now, wall: wallTime(ofNode: node))
    }

    /// Returns the share of the coordinators that has a group or a transactional id.
    func slot(of id: String) -> CoordinatorSlot {
        slots[Int(id.utf8.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) } % UInt64(Self.nodeCount))]
    }

    /// Handles the deadlines of the coordinators, and hands over the answers that are under way.
    func serve() {
        for slot in slots { slot.tick() }
        deliverAnswers()
    }

    func deliverAnswers() {
        while !answers.isEmpty { answers.removeFirst()() }
    }
}
