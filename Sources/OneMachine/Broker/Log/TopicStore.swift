internal import CLinux
internal import Glibc
package import Telemetry

/// All topics of a broker in one data directory. It creates, finds, changes and deletes topics, and gives
/// their logs the results of the other threads.
///
/// Confined to the loop thread. Creating and deleting topics syncs small files in place, a few
/// milliseconds each: they are rare and must be durable before they are answered.
package final class TopicStore {
    /// Partitions of one topic.
    package static let partitionsMax: Int32 = 10_000

    package let path: String
    package var clusterID: String { catalog.clusterID }

    let environment: LogEnvironment
    private let lock: StoreLock
    /// The thread for compaction and removal; the owner runs it.
    package let worker: DiskWorker
    var catalog: TopicCatalog
    let copies: CatalogCopies
    private var bootNote: BootNote
    /// Whether the disk may have another catalog than memory, because a save failed.
    var hasUnsavedCatalog = false
    private(set) var topicsByName: [String: Topic] = [:]
    private(set) var logs: [Int: PartitionLog] = [:]
    private var nextLog = 0
    /// The next time when unused segments are closed, by the expiry clock (ms).
    var nextSweep: Int64 = 0

    /// Opens the directory, which it makes if needed, and recovers every log in it. Other threads call
    /// `wake` when `deliver` has something to do. `bootID` and `directoryIdentity` replace the real ones
    /// in a test.
    package init(
        path: String, flush: FlushPolicy = .everyAck, disk: Disk = Disk(), log: Log = .silent,
        metrics: Metrics = Metrics(), openSegmentsMax: Int = OpenSegments.limitDefault,
        bootID: String? = nil, directoryIdentity: String? = nil,
        clock: @escaping () -> WallTime = { .now() },
        wake: @escaping @Sendable () -> Void
    ) throws(TopicStoreError) {
        self.path = path
        let counters = LogCounters(metrics: metrics)
        worker = DiskWorker(disk: disk, wake: wake)
        let noted: BootNote?
        try Self.makeDirectories(at: path, disk: disk)
        lock = try StoreLock(path: path, disk: disk)
        do throws(DiskError) {
            noted = try BootNote.read(in: path, disk: disk)
        } catch {
            throw .disk(error)
        }
        bootNote = BootNote(
            boot: bootID ?? BootNote.currentBoot(),
            directoryIdentity: directoryIdentity ?? lock.directoryIdentity, flush: flush)
        copies = CatalogCopies(in: path, disk: disk)
        environment = LogEnvironment(
            disk: disk, open: OpenSegments(disk: disk, limit: openSegmentsMax, flush: flush),
            flusher: Flusher(disk: disk, syncSeconds: counters.syncSeconds, wake: wake), flush: flush,
            machineStayedUp: bootNote.stayedUp(since: noted),
            clock: clock, log: log, counters: counters)
        catalog = TopicCatalog(clusterID: "")
        try openCatalog()
        let skipsOffsets = bootNote.mayHaveLostAcknowledged(since: noted)
        for entry in catalog.entries { try open(entry, skipsOffsets: skipsOffsets) }
        if bootNote != noted { try saveBootNote(bootNote) }
    }

    private func saveBootNote(_ note: BootNote) throws(TopicStoreError) {
        do throws(DiskError) {
            try note.save(in: path, disk: environment.disk)
        } catch {
            throw .disk(error)
        }
    }

    /// Makes the directories that are missing, with durable names: a directory that a power failure
    /// takes away would take the acknowledged records in it along.
    static func makeDirectories(at path: String, disk: Disk) throws(TopicStoreError) {
        do throws(DiskError) {
            if try disk.makeDirectory(at: path) { try disk.syncDirectory(at: disk.parent(of: path)) }
            try disk.restrictAccess(to: path)
            if try disk.makeDirectory(at: path + "/logs") { try disk.syncDirectory(at: path) }
        } catch {
            throw .disk(error)
        }
    }

    func open(_ entry: TopicCatalog.Entry, skipsOffsets: Bool = false) throws(TopicStoreError) {
        let settings: TopicSettings
        do throws(TopicSettingError) {
            settings = try TopicSettings(overrides: entry.settings)
        } catch {
            throw .badSetting(error)
        }
        let topic = Topic(
            name: entry.name, id: entry.id, isInternal: entry.isInternal, serial: entry.serial,
            settings: settings)
        do throws(LogError) {
            for directory in entry.directories {
                let log = PartitionLog(
                    topic: entry.name, partition: directory.partition, id: nextLog,
                    directory: path + "/logs/" + directory.name, settings: settings, environment: environment)
                nextLog += 1
                topic.partitions.append(log)
                try log.open(skipsOffsets: skipsOffsets)
            }
        } catch {
            for log in topic.partitions { log.abandon(reason: "its topic could not be opened") }
            throw .log(error)
        }
        for log in topic.partitions { logs[log.id] = log }
        topicsByName[entry.name] = topic
    }

    func removeTopic(_ topic: Topic) {
        topicsByName[topic.name] = nil
        for log in topic.partitions {
            logs[log.id] = nil
            log.abandon(reason: "the topic was deleted")
        }
    }
}

extension TopicStore {
    package var topics: [Topic] { topicsByName.values.sorted { $0.name < $1.name } }

    /// Files beside the logs that no log reads.
    package var setAsideFiles: Int { logs.values.reduce(0) { $0 + $1.setAsideFiles } }

    package func topic(named name: String) -> Topic? { topicsByName[name] }

    package func topic(id: TopicID) -> Topic? { topicsByName.values.first { $0.id == id } }

    /// The thread that syncs; the owner runs it.
    package var flusher: Flusher { environment.flusher }

    /// Hands the work of `close` to the flusher's threads. Its results come with `deliver`.
    package func prepareClose() {
        for log in logs.values { log.prepareClose() }
    }

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
        guard bootNote.flush == .os else { return }
        bootNote.isClosed = true
        try saveBootNote(bootNote)
    }
}
