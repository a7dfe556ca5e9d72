internal import CLinux
internal import Glibc
package import Telemetry

/// All topics of a broker in one data directory: creates, finds, changes and deletes them, and
/// brings to their logs what the threads beside the loop have finished.
///
/// Confined to the loop thread. Creating and deleting topics syncs small files in place, a few
/// milliseconds each: they are rare and must be durable before they are answered.
package final class TopicStore {
    /// Partitions of one topic.
    package static let partitionsMax: Int32 = 10_000

    package let path: String
    package var clusterID: String { catalog.clusterID }

    let environment: LogEnvironment
    private let lock: OpenFile
    /// The thread for compaction and removal; the owner runs it.
    package let worker: DiskWorker
    var catalog: TopicCatalog
    private(set) var topicsByName: [String: Topic] = [:]
    private(set) var logs: [Int: PartitionLog] = [:]
    private var nextLog = 0

    /// Opens the directory, made if it is not there, and recovers every log in it. `wake` is called
    /// on other threads when `deliver` has something to do.
    package init(
        path: String, flush: FlushPolicy = .everyAck, disk: Disk = Disk(), log: Log = .silent,
        metrics: Metrics = Metrics(), openSegmentsMax: Int = OpenSegments.limitDefault,
        bootID: String = BootID.current, clock: @escaping () -> WallTime = { .now() },
        wake: @escaping @Sendable () -> Void
    ) throws(TopicStoreError) {
        self.path = path
        let counters = LogCounters(metrics)
        worker = DiskWorker(disk: disk, wake: wake)
        let stayedUp: Bool
        do throws(DiskError) {
            try disk.makeDirectory(path)
            try disk.makeDirectory(path + "/logs")
            lock = try disk.open(path + "/lock", create: true, writable: true)
        } catch {
            throw .disk(error)
        }
        guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .locked(path: path) }
        do throws(DiskError) {
            stayedUp = try BootID.isNoted(bootID, in: path, disk)
        } catch {
            throw .disk(error)
        }
        catalog = try Self.readCatalog(path, disk)
        environment = LogEnvironment(
            disk: disk, open: OpenSegments(disk: disk, limit: openSegmentsMax),
            flusher: Flusher(disk: disk, syncSeconds: counters.syncSeconds, wake: wake), flush: flush,
            machineStayedUp: stayedUp, clock: clock, log: log, counters: counters)
        try removeStrangers()
        for entry in catalog.entries { try open(entry) }
        guard !stayedUp else { return }
        do throws(DiskError) {
            try BootID.note(bootID, in: path, disk)
        } catch {
            throw .disk(error)
        }
    }

    /// Unlocked by name: a child that is just being started may hold the descriptor a little longer.
    deinit { flock(lock.descriptor, LOCK_UN) }

    private static func readCatalog(_ path: String, _ disk: Disk) throws(TopicStoreError) -> TopicCatalog {
        let file = path + "/" + TopicCatalog.fileName
        do throws(DiskError) {
            let bytes = try disk.contents(of: file)
            if let bytes, let catalog = TopicCatalog(bytes) { return catalog }
            if bytes == nil {
                var generator = SystemRandomNumberGenerator()
                let catalog = TopicCatalog(clusterID: ClusterID.random(using: &generator))
                try disk.replace(file, with: catalog.encoded())
                return catalog
            }
        } catch {
            throw .disk(error)
        }
        throw .damagedCatalog(path: file)
    }

    /// Removes directories of topics that were being created or deleted when the process ended.
    private func removeStrangers() throws(TopicStoreError) {
        let known = Set(
            catalog.entries.flatMap { entry in
                (0..<entry.partitionCount).map {
                    Self.directoryName(entry.name, partition: $0, serial: entry.serial)
                }
            })
        do throws(DiskError) {
            for name in try environment.disk.names(in: path + "/logs") where !known.contains(name) {
                try environment.disk.removeDirectory(path + "/logs/" + name)
            }
        } catch {
            throw .disk(error)
        }
    }

    static func directoryName(_ topic: String, partition: Int32, serial: Int64) -> String {
        "\(topic)-\(partition).\(serial)"
    }

    func open(_ entry: TopicCatalog.Entry) throws(TopicStoreError) {
        let settings: TopicSettings
        do throws(TopicSettingError) {
            settings = try TopicSettings(entry.settings)
        } catch {
            throw .badSetting(error)
        }
        let topic = Topic(
            name: entry.name, id: entry.id, isInternal: entry.isInternal, serial: entry.serial,
            settings: settings)
        for index in 0..<entry.partitionCount {
            let log = PartitionLog(
                topic: entry.name, partition: index, id: nextLog,
                directory: path + "/logs/"
                    + Self.directoryName(entry.name, partition: index, serial: entry.serial),
                settings: settings, environment: environment)
            do throws(LogError) {
                try log.open()
            } catch {
                throw .log(error)
            }
            logs[nextLog] = log
            nextLog += 1
            topic.partitions.append(log)
        }
        topicsByName[entry.name] = topic
    }

    func forget(_ topic: Topic) {
        topicsByName[topic.name] = nil
        for log in topic.partitions {
            logs[log.id] = nil
            log.abandon("the topic was deleted")
        }
    }
}

extension TopicStore {
    package var topics: [Topic] { topicsByName.values.sorted { $0.name < $1.name } }

    package func topic(named name: String) -> Topic? { topicsByName[name] }

    package func topic(_ id: TopicID) -> Topic? { topicsByName.values.first { $0.id == id } }

    /// The thread that syncs; the owner runs it.
    package var flusher: Flusher { environment.flusher }

    /// Syncs and closes every log, so that the next start reads nothing.
    package func close() throws(TopicStoreError) {
        var failure: LogError?
        for log in logs.values {
            do throws(LogError) {
                try log.close()
            } catch {
                failure = error
            }
        }
        if let failure { throw .log(failure) }
    }
}
