import Lifecycle
import Simulation
import Telemetry
import Topics

/// A partition of the virtual cluster.
struct Partition: Hashable, Comparable, CustomStringConvertible {
    let topic: String
    let number: Int32

    var description: String { "\(topic)/\(number)" }

    static func < (left: Partition, right: Partition) -> Bool {
        left.topic == right.topic ? left.number < right.number : left.topic < right.topic
    }
}

/// A virtual Kafka cluster of three nodes, in memory and in virtual time.
///
/// Each node leads some partitions, and coordinates some groups and transactions. Its clock stamps the records of its
/// partitions. While a node is away, the others take over after some seconds, and its coordinators lose what they had
/// only in memory.
final class VirtualCluster {
    static let nodeCount = 3
    static let id = "simulated-cluster"
    /// The time that Kafka needs to move the leaders and the coordinators of a node that died.
    static let failoverMilliseconds = 9000
    private static let lostAnswersPercentage = 20

    /// A time for which a node is away.
    struct Outage {
        let node: Int
        let from: Instant
        let until: Instant

        /// The time at which other nodes have taken over.
        var takenOverAt: Instant {
            min(until, from.advanced(byMilliseconds: VirtualCluster.failoverMilliseconds))
        }
    }

    let layout: TopicLayout
    private(set) var topics: [String: [VirtualLog]] = [:]
    private var names: [String: TopicName] = [:]
    /// The wall clock of each node less the true time, in milliseconds.
    var clockErrors = [Int64](repeating: 0, count: nodeCount)
    private(set) var outages: [Outage] = []
    /// Until this time, some answers to requests get lost after the requests have happened.
    var answersAreLostUntil = Instant(nanoseconds: 0)
    var slots: [CoordinatorSlot] = []
    /// The answers that are under way to clients.
    var answers: [() -> Void] = []
    var random: SeededGenerator
    /// Called when a record becomes visible in a partition.
    var onAppend: (VirtualLog) -> Void = { _ in }
    /// The true wall clock less the steady clock, in nanoseconds.
    let trueWallOffset: Int64
    /// The time of the newest request. A process whose call waits is ahead of the others, and the cluster's time never
    /// goes back.
    private var latest = Instant(nanoseconds: 0)

    init(layout: TopicLayout, trueWallOffset: Int64, seed: UInt64) {
        self.layout = layout
        self.trueWallOffset = trueWallOffset
        random = SeededGenerator(seed: seed)
        for topic in TopicName.allCases {
            let name = layout.name(of: topic)
            names[name] = topic
            topics[name] = (0..<Int32(layout.partitionCount(of: topic))).map {
                VirtualLog(topic: name, partition: $0, isStampedByCluster: layout.isDeletedByTime(topic))
            }
        }
        slots = (0..<Self.nodeCount).map {
            CoordinatorSlot(number: $0, at: clockReading(ofNode: $0), in: self)
        }
    }

    // MARK: Time

    var now: Instant {
        latest = max(latest, MachineClock.now)
        return latest
    }

    /// Returns the time by the wall clock of a node.
    func wallTime(ofNode node: Int) -> WallTime {
        WallTime(nanoseconds: now.nanoseconds + trueWallOffset + clockErrors[node] * 1_000_000)
    }

    // MARK: Nodes

    func log(of partition: Partition) -> VirtualLog? {
        guard let logs = topics[partition.topic], logs.indices.contains(Int(partition.number)) else {
            return nil
        }
        return logs[Int(partition.number)]
    }

    /// Lets a node die now and return later.
    func takeAway(node: Int, milliseconds: Int) {
        let now = now
        outages.removeAll { $0.until < now }
        outages.append(
            Outage(node: node, from: now, until: now.advanced(byMilliseconds: milliseconds)))
        slots[node].loseMemory()
    }

    /// Returns the node that leads a partition now, or nil while none does.
    func leader(of partition: Partition) -> Int? {
        let hash = partition.topic.utf8.reduce(UInt64(partition.number)) { $0 &* 31 &+ UInt64($1) }
        return host(ofShare: Int(hash % UInt64(Self.nodeCount)))
    }

    /// Returns the node that has a share of the work now: the node with the share's number or, while it is away, the
    /// node that has taken over. Returns nil until then.
    func host(ofShare node: Int) -> Int? {
        let now = now
        guard let outage = outages.last(where: { $0.node == node && $0.from <= now && now < $0.until }) else {
            return node
        }
        guard now >= outage.takenOverAt else { return nil }
        return (1..<Self.nodeCount).map { (node + $0) % Self.nodeCount }.first { other in
            !outages.contains { $0.node == other && $0.from <= now && now < $0.until }
        }
    }

    /// Whether the answer to a request gets lost. The client sends the request again.
    func losesAnswer() -> Bool {
        now < answersAreLostUntil && random.number(below: 100) < Self.lostAnswersPercentage
    }

    // MARK: Records

    /// Appends a record, with the stamp of the leader if the topic has such stamps. Returns its offset, or nil while no
    /// node leads the partition.
    func append(_ record: LogRecord, to log: VirtualLog, epoch: Int16 = 0) -> Int64? {
        guard let leader = leader(of: Partition(topic: log.topic, number: log.partition)) else { return nil }
        var record = record
        if log.isStampedByCluster || record.timestamp == 0 {
            record.timestamp = wallTime(ofNode: leader).milliseconds
        }
        let offset = log.endOffset
        log.append(record, epoch: epoch)
        onAppend(log)
        return offset
    }

    // MARK: Upkeep

    /// Deletes what retention and compaction delete.
    func clean() {
        for (name, logs) in topics.sorted(by: { $0.key < $1.key }) {
            guard let topic = names[name] else { continue }
            for log in logs {
                let leader = leader(of: Partition(topic: name, number: log.partition)) ?? 0
                let now = wallTime(ofNode: leader).milliseconds
                if layout.isDeletedByTime(topic) {
                    log.deleteRecords(olderThan: now - layout.retentionMilliseconds(of: topic))
                }
                if layout.isCompacted(topic) {
                    log.compact(droppingTombstonesOlderThan: now - TopicLayout.deleteRetentionMilliseconds)
                }
            }
        }
    }
}
