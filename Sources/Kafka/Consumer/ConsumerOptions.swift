/// What a consumer reads, and its bounds.
package struct ConsumerOptions: Sendable {
    package enum Membership: Sendable {
        /// A member of a group: partitions come and go. A static member, named by the slot, keeps
        /// its partitions over a restart.
        case group(String, instanceID: String?, topics: [String])
        /// No group: the partitions are the ones that `assign` names.
        case manual
    }

    /// What happens when the offset to read from is no longer there.
    package enum OutOfRange: String, Sendable {
        /// An error for a person: jobs, sends, reports. Nothing is skipped in silence.
        case error
        /// Begin again: topics that hold a state, of which the newest records are all there.
        case earliest
    }

    package var membership: Membership
    package var outOfRange = OutOfRange.error
    package var readsOpenTransactions = false
    /// Without a sign of life for so long, a member's partitions go to others.
    package var sessionMilliseconds = 10_000
    /// The longest time between two polls, and so the longest drain before partitions go.
    package var pollMillisecondsMax = 45_000
    /// What is fetched ahead.
    package var prefetchKibibytesMax = 32_768
    /// Records that are fetched ahead. The library counts a record's value as its bytes, and no headers: a topic whose
    /// records lie in their headers is bounded by this alone.
    package var prefetchRecordsMax = 100_000
    /// Of one answer of a broker, as it comes, which may be compressed.
    package var fetchKibibytesMax = 51_200
    /// The same of one partition.
    package var partitionKibibytesMax = 1024

    /// How long a broker that has nothing new may keep a question: until then its end is not told.
    package var fetchWaitMilliseconds = 500

    package init(_ membership: Membership) { self.membership = membership }

    func apply(to configuration: inout Configuration) {
        switch membership {
        case .group(let group, let instanceID, _):
            configuration.set("group.id", group)
            instanceID.map { configuration.set("group.instance.id", $0) }
        case .manual:
            // The library wants a name; nothing is ever committed under it.
            configuration.set("group.id", "flotilla-manual")
        }
        configuration.set("partition.assignment.strategy", "range")
        configuration.set("session.timeout.ms", "\(sessionMilliseconds)")
        configuration.set("heartbeat.interval.ms", "\(max(100, min(3000, sessionMilliseconds / 5)))")
        configuration.set("max.poll.interval.ms", "\(max(pollMillisecondsMax, sessionMilliseconds))")
        configuration.set("enable.auto.commit", "false")
        configuration.set("enable.auto.offset.store", "false")
        configuration.set("auto.offset.reset", outOfRange.rawValue)
        configuration.set("isolation.level", readsOpenTransactions ? "read_uncommitted" : "read_committed")
        configuration.set("check.crcs", "true")
        configuration.set("allow.auto.create.topics", "false")
        configuration.set("enable.partition.eof", "true")
        configuration.set("queued.max.messages.kbytes", "\(prefetchKibibytesMax)")
        configuration.set("queued.min.messages", "\(prefetchRecordsMax)")
        configuration.set("fetch.max.bytes", "\(fetchKibibytesMax << 10)")
        configuration.set("fetch.message.max.bytes", "\(partitionKibibytesMax << 10)")
        configuration.set("fetch.wait.max.ms", "\(fetchWaitMilliseconds)")
        configuration.set("fetch.error.backoff.ms", "50")
    }
}
