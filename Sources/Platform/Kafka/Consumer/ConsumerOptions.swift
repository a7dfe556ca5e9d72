/// The topics and the limits of a consumer.
package struct ConsumerOptions: Sendable {
    package enum Membership: Sendable {
        /// A member of a group: partitions come and go. A static member, whose name comes from the slot,
        /// keeps its partitions over a restart.
        case group(String, instanceID: String?, topics: [String])
        /// No group: `assign` names the partitions.
        case manual
        /// The client of `SharedReaders`: it has no group, and each of its readers names its partitions.
        case readers
    }

    /// The behavior if the offset to read from no longer exists.
    package enum OutOfRangePolicy: Sendable {
        /// Report an error to a person: for jobs, sends and reports. Records are never skipped silently.
        case error
        /// Start again at the beginning: for compacted topics, which still hold the newest record of each
        /// key, and for searches, which need only records that exist. Only for consumers without a group.
        case earliest
    }

    package var membership: Membership
    package var outOfRange = OutOfRangePolicy.error
    /// Whether records of transactions that are open or aborted are read.
    package var readsOpenTransactions = false
    /// The default of `sessionMilliseconds`.
    ///
    /// A member whose coordinator is silent for one session gives up its partitions by itself, and the whole group
    /// starts over. After the death of a node that is the active controller, Kafka takes 11 to 13 s until another
    /// coordinator answers. The session is longer than that. So the death of a node takes no partitions from living
    /// members, and the partitions of a dead process wait longer for their next owner.
    package static let sessionMillisecondsDefault = 18_000

    /// The time without a heartbeat after which a member's partitions go to other members.
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    /// The longest time between two polls. It also limits the drain before partitions go.
    package var pollMillisecondsMax = 45_000
    /// The maximum size of the records that are fetched ahead.
    package var prefetchKibibytesMax = 32_768
    /// The maximum number of records that are fetched ahead. The library counts only the value of a record as
    /// its size, not the headers. So this alone bounds a topic whose data is in its headers.
    package var prefetchRecordsMax = 100_000
    /// The maximum size of one response of a broker, as sent, possibly compressed.
    package var fetchKibibytesMax = 51_200
    /// The maximum size of one partition's records in one response.
    package var partitionKibibytesMax = 1024
    /// The longest time for which a broker without new records may hold a fetch. Until it answers, the end of
    /// the partition is not reported.
    package var fetchWaitMilliseconds = 500

    package init(membership: Membership) { self.membership = membership }

    /// Several heartbeats fit into a session, and at least one comes every second. So a member learns of a rebalance
    /// and of a new coordinator within a second.
    var heartbeatMilliseconds: Int { max(100, min(1000, sessionMilliseconds / 5)) }

    func apply(to configuration: inout ClientConfiguration) {
        switch membership {
        case .group(let group, let instanceID, _):
            configuration.set("group.id", to: group)
            instanceID.map { configuration.set("group.instance.id", to: $0) }
        case .manual:
            // The library requires a name. Nothing is ever committed under it.
            configuration.set("group.id", to: "flotilla-manual")
        // A client without a name has no coordinator to connect to.
        case .readers: break
        }
        configuration.set("partition.assignment.strategy", to: "range")
        configuration.set("session.timeout.ms", to: "\(sessionMilliseconds)")
        configuration.set("heartbeat.interval.ms", to: "\(heartbeatMilliseconds)")
        configuration.set("max.poll.interval.ms", to: "\(max(pollMillisecondsMax, sessionMilliseconds))")
        configuration.set("enable.auto.commit", to: "false")
        configuration.set("enable.auto.offset.store", to: "false")
        // The consumer looks up the beginning itself (`PositionLookups`).
        configuration.set("auto.offset.reset", to: "error")
        configuration.set(
            "isolation.level", to: readsOpenTransactions ? "read_uncommitted" : "read_committed")
        configuration.set("check.crcs", to: "true")
        configuration.set("allow.auto.create.topics", to: "false")
        configuration.set("enable.partition.eof", to: "true")
        configuration.set("queued.max.messages.kbytes", to: "\(prefetchKibibytesMax)")
        configuration.set("queued.min.messages", to: "\(prefetchRecordsMax)")
        configuration.set("fetch.max.bytes", to: "\(fetchKibibytesMax << 10)")
        configuration.set("fetch.message.max.bytes", to: "\(partitionKibibytesMax << 10)")
        configuration.set("fetch.wait.max.ms", to: "\(fetchWaitMilliseconds)")
        configuration.set("fetch.error.backoff.ms", to: "50")
    }
}
